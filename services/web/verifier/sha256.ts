// SHA-256 (FIPS 180-4) and HMAC (RFC 2104): `crypto.subtle` is missing where a page comes over plain HTTP.

import { hex, joined } from "./octets.ts";

/** The first 32 bits of the fractional parts of roots of the first primes. */
function fractions(count: number, root: (prime: number) => number): Uint32Array {
  const found: number[] = [];
  for (let number = 2; found.length < count; number++) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= number; divisor++) prime = prime && number % divisor !== 0;
    if (prime) found.push(Math.floor((root(number) % 1) * 2 ** 32));
  }
  return Uint32Array.from(found);
}

const ROUNDS = fractions(64, Math.cbrt);
const START = fractions(8, Math.sqrt);

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

export function sha256(data: Uint8Array): Uint8Array {
  const padded = new Uint8Array(((data.length + 8) >> 6) * 64 + 64);
  padded.set(data);
  padded[data.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(data.length / 2 ** 29));
  view.setUint32(padded.length - 4, data.length * 8);
  const state = START.slice();
  const words = new Uint32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let t = 0; t < 16; t++) words[t] = view.getUint32(block + 4 * t);
    for (let t = 16; t < 64; t++) {
      const early = words[t - 15];
      const late = words[t - 2];
      const one = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
      const two = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
      words[t] = words[t - 16] + one + words[t - 7] + two;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let t = 0; t < 64; t++) {
      const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[t] + words[t]) | 0;
      const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, place) => (state[place] += word));
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, place) => digest.setUint32(4 * place, word));
  return new Uint8Array(digest.buffer);
}

export function sha256Hex(data: Uint8Array): string {
  return hex(sha256(data));
}

export function hmac(key: Uint8Array, data: Uint8Array): Uint8Array {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const inner = sha256(joined(block.map((octet) => octet ^ 0x36), data));
  return sha256(joined(block.map((octet) => octet ^ 0x5c), inner));
}
