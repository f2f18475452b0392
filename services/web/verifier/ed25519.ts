// Verification of Ed25519 signatures (RFC 8032, 5.1.7). It holds no secret, so it need not run in constant time.

import { joined } from "./octets.ts";
import { sha512 } from "./sha512.ts";

type Point = [bigint, bigint, bigint, bigint]; // X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z

const P = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

function mod(number: bigint): bigint {
  const rest = number % P;
  return rest < 0n ? rest + P : rest;
}

function power(number: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let square = mod(number), left = exponent; left > 0n; left >>= 1n, square = mod(square * square)) if (left & 1n) result = mod(result * square);
  return result;
}

const D = mod(-121665n * power(121666n, P - 2n));
const ROOT = power(2n, (P - 1n) / 4n);

function added([x1, y1, z1, t1]: Point, [x2, y2, z2, t2]: Point): Point {
  const a = mod((y1 - x1) * (y2 - x2));
  const b = mod((y1 + x1) * (y2 + x2));
  const c = mod(2n * t1 * t2 * D);
  const d = mod(2n * z1 * z2);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
}

function times(factor: bigint, point: Point): Point {
  let sum: Point = [0n, 1n, 1n, 0n];
  for (let left = factor, double = point; left > 0n; left >>= 1n, double = added(double, double)) if (left & 1n) sum = added(sum, double);
  return sum;
}

function number(data: Uint8Array): bigint {
  return data.reduceRight((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
}

function point(data: Uint8Array): Point | null {
  const sign = number(data) >> 255n;
  const y = number(data) & (2n ** 255n - 1n);
  if (y >= P) return null;
  const square = mod((y * y - 1n) * power(D * y * y + 1n, P - 2n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x - square) !== 0n) x = mod(x * ROOT);
  if (mod(x * x - square) !== 0n || (x === 0n && sign === 1n)) return null;
  if ((x & 1n) !== sign) x = P - x;
  return [x, y, 1n, mod(x * y)];
}

const BASE_Y = mod(4n * power(5n, P - 2n));
const BASE = point(Uint8Array.from({ length: 32 }, (_, place) => Number((BASE_Y >> BigInt(8 * place)) & 255n))) as Point;

/** Whether the 64 bytes are a signature of the message under the key of 32 bytes. */
export function signatureFits(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const signer = point(key);
  const begun = point(signature.slice(0, 32));
  const scalar = number(signature.slice(32));
  if (signer === null || begun === null || scalar >= ORDER) return false;
  const challenge = number(sha512(joined(signature.slice(0, 32), key, message))) % ORDER;
  const [x1, y1, z1] = times(scalar, BASE);
  const [x2, y2, z2] = added(begun, times(challenge, signer));
  return mod(x1 * z2 - x2 * z1) === 0n && mod(y1 * z2 - y2 * z1) === 0n;
}
