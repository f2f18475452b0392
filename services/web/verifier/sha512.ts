// SHA-512 (FIPS 180-4) with BigInt: slow, and used for one signature a file.

const MASK = (1n << 64n) - 1n;

/** The first 64 bits of the fractional part of the root of that degree: an exact integer root by bisection. */
function fraction(prime: number, degree: bigint): bigint {
  const aim = BigInt(prime) << (64n * degree);
  let low = 0n;
  let high = 1n << 70n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** degree <= aim) low = middle;
    else high = middle;
  }
  return low & MASK;
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let number = 2; found.length < count; number++) if (found.every((prime) => number % prime !== 0)) found.push(number);
  return found;
}

const ROUNDS = primes(80).map((prime) => fraction(prime, 3n));
const START = primes(8).map((prime) => fraction(prime, 2n));

function turned(word: bigint, bits: bigint): bigint {
  return ((word >> bits) | (word << (64n - bits))) & MASK;
}

export function sha512(data: Uint8Array): Uint8Array {
  const padded = new Uint8Array(((data.length + 16) >> 7) * 128 + 128);
  padded.set(data);
  padded[data.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(data.length) * 8n);
  const state = START.slice();
  for (let block = 0; block < padded.length; block += 128) {
    const words: bigint[] = [];
    for (let t = 0; t < 16; t++) words.push(view.getBigUint64(block + 8 * t));
    for (let t = 16; t < 80; t++) {
      const early = words[t - 15];
      const late = words[t - 2];
      const one = turned(early, 1n) ^ turned(early, 8n) ^ (early >> 7n);
      const two = turned(late, 19n) ^ turned(late, 61n) ^ (late >> 6n);
      words.push((words[t - 16] + one + words[t - 7] + two) & MASK);
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let t = 0; t < 80; t++) {
      const first = h + (turned(e, 14n) ^ turned(e, 18n) ^ turned(e, 41n)) + ((e & f) ^ (~e & MASK & g)) + ROUNDS[t] + words[t];
      const second = (turned(a, 28n) ^ turned(a, 34n) ^ turned(a, 39n)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) & MASK, c, b, a, (first + second) & MASK];
    }
    [a, b, c, d, e, f, g, h].forEach((word, place) => (state[place] = (state[place] + word) & MASK));
  }
  const digest = new DataView(new ArrayBuffer(64));
  state.forEach((word, place) => digest.setBigUint64(8 * place, word));
  return new Uint8Array(digest.buffer);
}
