// An export file's verdict (export-file.md): what a page calls with the file's bytes.

import { checkpointOf, entryOf, rootOf, treeOf } from "./checkpoint.ts";
import { unhex } from "./octets.ts";
import { sha256Hex } from "./sha256.ts";
import { parsed, type Json } from "./strict_json.ts";
import { checkTable, type Problem, type TableVerdict } from "./table.ts";

export interface Verdict {
  verified: boolean;
  tables: number;
  commits: number;
  deals: number;
  going_on: string[];
  not_compared: { [table: string]: number };
  checkpoint: { number: number; at: number; key: string; tables: number } | null;
  problems: Problem[];
}

export class NoExport extends Error {}

interface Read extends TableVerdict {
  hidden: boolean;
}

/** The verdict on an export's bytes, uncompressed; `NoExport` where it is none. */
export function verify(data: Uint8Array, keys: string[] = []): Verdict {
  const problems: Problem[] = [];
  const say = (table: string | null, revision: number, code: string, message: string) => problems.push({ table, revision, code, message });
  const newline = data.indexOf(10);
  try {
    if (parsed(new TextDecoder("utf-8", { fatal: true }).decode(data.slice(0, newline))).pulka_export !== 1) throw new Error("another format");
  } catch (error) {
    throw new NoExport(`this is no export: ${error}`);
  }
  let text = "";
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    say(null, 0, "file", "it is not UTF-8");
    text = new TextDecoder().decode(data);
  }
  const lines = text.split("\n");
  if (lines.pop() !== "") say(null, 0, "file", "the last line has no end");
  const read = new Map<string, Read>();
  const notCompared: { [table: string]: number } = {};
  let checkpoint: Json = null;
  let commits = 0;
  let ended = false;
  for (let at = 1; at < lines.length && !ended; at++) {
    let line: Json;
    try {
      line = parsed(lines[at]);
      if ("table" in line) {
        const stored = lines.slice(at + 1, at + 1 + line.commits);
        at += line.commits;
        commits += stored.length;
        const verdict = checkTable(line.table, stored);
        problems.push(...verdict.problems);
        if (read.has(line.table)) say(line.table, 0, "file", "the table stands twice in the file");
        if (verdict.hashes[verdict.hashes.length - 1] !== line.head) say(line.table, stored.length, "changed", "the last commit is not the head");
        read.set(line.table, { ...verdict, hidden: line.hidden === true });
      } else if ("checkpoint" in line) {
        const { text: signed, codes } = checkpointOf(line.checkpoint, keys);
        for (const code of codes) say(null, 0, code, "the checkpoint of the file");
        checkpoint = signed;
      } else if ("proof" in line) proof(line.proof, checkpoint, read, notCompared, say);
      else if ("end" in line) {
        ended = true;
        const { tables, commits: counted, sha256 } = line.end;
        if (tables !== read.size || counted !== commits || at + 1 !== lines.length) say(null, 0, "file", "the counts at the end are others");
        const begin = data.lastIndexOf(10, data.length - 2) + 1;
        if (sha256Hex(data.slice(0, begin)) !== sha256) say(null, 0, "file", "its SHA-256 is another");
      } else say(null, 0, "file", `line ${at + 1} is nothing that an export has`);
    } catch (error) {
      say(null, 0, "file", `line ${at + 1}: ${error}`);
    }
  }
  if (!ended) say(null, 0, "file", "the end is missing");
  if (keys.length > 0 && checkpoint === null) say(null, 0, "checkpoint_missing", "a key was given, and nothing is signed");
  const found = [...read];
  return {
    verified: problems.length === 0,
    tables: read.size,
    commits,
    deals: found.reduce((sum, [, table]) => sum + table.deals, 0),
    going_on: found.filter(([, table]) => !table.over).map(([id]) => id),
    not_compared: notCompared,
    checkpoint: checkpoint && { number: checkpoint.number, at: checkpoint.at, key: checkpoint.key, tables: checkpoint.tables },
    problems,
  };
}

function proof(
  { leaf, path }: Json,
  checkpoint: Json,
  read: Map<string, Read>,
  notCompared: { [table: string]: number },
  say: (table: string | null, revision: number, code: string, message: string) => void,
): void {
  const [id, revision, head, tree] = leaf;
  const table = read.get(id);
  if (!table || !checkpoint) {
    say(id, revision, "proof", "a proof without its table or its checkpoint");
    return;
  }
  if (path.count !== checkpoint.tables || rootOf(entryOf(leaf), path) !== checkpoint.root) say(id, revision, "proof", "it does not lead to the signed root");
  if (revision > table.hashes.length) {
    if (table.hidden) notCompared[id] = revision;
    else say(id, table.hashes.length, "missing", `the checkpoint knows ${revision} commits`);
    return;
  }
  const known = table.hashes.slice(0, revision);
  if (known[revision - 1] !== head || treeOf(known.map((one) => unhex(one, 32))) !== tree) {
    say(id, revision, "checkpoint_tree", "the commits are not those that were signed");
  }
}
