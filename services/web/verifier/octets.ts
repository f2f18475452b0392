// Bytes: hex, UTF-8, and the framing of fair-deal parts (deploy/docs/events.md, "The deal's proof").

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function hex(data: Uint8Array): string {
  let text = "";
  for (const octet of data) text += octet.toString(16).padStart(2, "0");
  return text;
}

/** The bytes that the hex digits tell; throws where they are no hex, or not so many bytes. */
export function unhex(text: unknown, length: number): Uint8Array {
  if (typeof text !== "string" || text.length !== 2 * length || !/^[0-9a-f]*$/.test(text)) throw new Error(`not ${length} bytes in hex`);
  return Uint8Array.from({ length }, (_, place) => parseInt(text.slice(2 * place, 2 * place + 2), 16));
}

export function joined(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Before each part its length in four bytes, big end first; text is UTF-8, a number its decimal text. */
export function framed(...parts: (Uint8Array | string | number)[]): Uint8Array {
  const framedParts: Uint8Array[] = [];
  for (const part of parts) {
    const data = part instanceof Uint8Array ? part : utf8(String(part));
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, data.length);
    framedParts.push(length, data);
  }
  return joined(...framedParts);
}
