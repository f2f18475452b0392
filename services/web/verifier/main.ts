// node services/web/verifier/main.ts EXPORT [--key KEY]... [--json]; exit statuses as export-file.md tells.

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { verify } from "./verify.ts";

function told(words: string[]): number {
  const keys: string[] = [];
  const files: string[] = [];
  let json = false;
  for (let at = 0; at < words.length; at++) {
    if (words[at] === "--json") json = true;
    else if (words[at] === "--key" && /^[0-9a-f]{64}$/.test(words[at + 1] ?? "")) keys.push(words[++at]);
    else if (words[at].startsWith("--")) throw new Error(`what is ${words[at]}?`);
    else files.push(words[at]);
  }
  if (files.length !== 1) throw new Error("usage: main.ts EXPORT [--key KEY]... [--json]");
  const stored = readFileSync(files[0]);
  const verdict = verify(new Uint8Array(stored[0] === 0x1f && stored[1] === 0x8b ? gunzipSync(stored) : stored), keys);
  const open = Object.keys(verdict.not_compared);
  if (json) console.log(JSON.stringify(verdict));
  else {
    console.log(`${verdict.tables} tables, ${verdict.commits} commits, ${verdict.deals} deals`);
    for (const { table, revision, code, message } of verdict.problems) console.log(`${table ?? "file"} ${revision} ${code}: ${message}`);
    for (const table of open) console.log(`${table}: not compared up to revision ${verdict.not_compared[table]}`);
    if (verdict.verified && open.length === 0) console.log("OK");
  }
  return verdict.verified ? (open.length > 0 ? 3 : 0) : 1;
}

try {
  process.exitCode = told(process.argv.slice(2));
} catch (error) {
  console.error(String(error));
  process.exitCode = 2;
}
