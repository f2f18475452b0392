// A signed checkpoint, and the ways up its trees (proofs.md; the trees are those of RFC 6962).

import { signatureFits } from "./ed25519.ts";
import { hex, joined, unhex, utf8 } from "./octets.ts";
import { sha256 } from "./sha256.ts";
import { parsed, type Json } from "./strict_json.ts";

function leafHash(entry: Uint8Array): Uint8Array {
  return sha256(joined(Uint8Array.of(0), entry));
}

function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256(joined(Uint8Array.of(1), left, right));
}

export function treeOf(entries: Uint8Array[]): string {
  let row = entries.map(leafHash);
  while (row.length > 1) row = row.flatMap((one, place) => (place % 2 ? [] : place + 1 < row.length ? [nodeHash(one, row[place + 1])] : [one]));
  return hex(row[0]);
}

/** The root that a way leads to; throws where it has too few or too many hashes. */
export function rootOf(entry: Uint8Array, way: { place: number; count: number; beside: string[] }): string {
  let now = leafHash(entry);
  const beside = way.beside.map((one) => unhex(one, 32));
  if (!(way.place >= 0 && way.place < way.count)) throw new Error("no such place");
  for (let place = way.place, count = way.count; count > 1; place >>= 1, count = (count + 1) >> 1) {
    if (place % 2 === 0 && place + 1 === count) continue;
    const other = beside.shift();
    if (!other) throw new Error("the way is too short");
    now = place % 2 ? nodeHash(other, now) : nodeHash(now, other);
  }
  if (beside.length > 0) throw new Error("the way is too long");
  return hex(now);
}

export function entryOf([table, revision, head, tree]: Json[]): Uint8Array {
  return utf8(JSON.stringify({ table, revision, head, tree }));
}

/** The checkpoint's text, and the codes of what is wrong with it. */
export function checkpointOf({ signed, signature }: Json, keys: string[]): { text: Json; codes: string[] } {
  try {
    const text = parsed(signed);
    if (text.format !== 1) return { text: null, codes: ["checkpoint_unreadable"] };
    const codes = keys.length > 0 && !keys.includes(text.key) ? ["checkpoint_key"] : [];
    if (!signatureFits(unhex(text.key, 32), utf8(signed), unhex(signature, 64))) codes.push("checkpoint_signature");
    return { text, codes };
  } catch {
    return { text: null, codes: ["checkpoint_unreadable"] };
  }
}
