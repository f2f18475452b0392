// The deck and the hands: shuffling, dealing, salts (events.md, "The deal's proof").

import { framed, hex, unhex, utf8 } from "./octets.ts";
import { hmac, sha256Hex } from "./sha256.ts";

const RANKS = "789TJQKA";
const SUITS = "SCDH";

export type Part = Uint8Array | string | number;

export function keyed(seed: Uint8Array, ...parts: Part[]): Uint8Array {
  return hmac(seed, framed(...parts));
}

/** Fisher-Yates over the cards S C D H from the seven up; draws that are too high are thrown away. */
export function shuffled(key: Uint8Array): string[] {
  const deck = [...SUITS].flatMap((suit) => [...RANKS].map((rank) => rank + suit));
  let block = 0;
  let octets: number[] = [];
  for (let last = 31; last > 0; last--) {
    const mask = 2 ** (32 - Math.clz32(last)) - 1;
    let place = last + 1;
    while (place > last) {
      if (octets.length === 0) octets = [...keyed(key, "pulka stream 1", block++)];
      place = (octets.shift() as number) & mask;
    }
    [deck[last], deck[place]] = [deck[place], deck[last]];
  }
  return deck;
}

export function sortedHand(cards: string[]): string {
  const order = (card: string) => SUITS.indexOf(card[1]) * 8 - RANKS.indexOf(card[0]);
  return [...cards].sort((one, other) => order(one) - order(other)).join(" ");
}

/** Two at a time from the dealer's left, five rounds, the talon after the first; a dummy's hand is third, and dealt to third. */
export function dealt(deck: string[], players: number, dealer: number): { hands: string[]; talon: string } {
  const left = [...deck];
  const hands: string[][] = Array.from({ length: Math.max(3, players) }, () => []);
  const order = players === 2 ? [1 - dealer, dealer, 2] : (players === 5 ? [1, 2, 4] : [1, 2, 3]).map((step) => (dealer + step) % players);
  let talon = "";
  for (let round = 0; round < 5; round++) {
    for (const hand of order) hands[hand].push(...left.splice(0, 2));
    if (round === 0) talon = left.splice(0, 2).join(" ");
  }
  return { hands: hands.map(sortedHand), talon };
}

export function saltOf(seed: Uint8Array, label: string): Uint8Array {
  return keyed(seed, "pulka salt 1", label).slice(0, 16);
}

export function nextLink(table: string, link: string): string {
  return sha256Hex(utf8(`pulka link 2 ${table} ${link}`));
}

/** Whether so many steps lead from one link to the other: 1 to 4096. */
export function leadsTo(table: string, link: string, steps: number, known: string): boolean {
  if (!Number.isInteger(steps) || steps < 0 || steps > 4096) return false;
  let now = link;
  for (let step = 0; step < steps; step++) now = nextLink(table, now);
  return now === known;
}

/** The draw's order: an ace below a seven, of equals S C D H. */
export function drawnOrder(cards: string[]): number[] {
  const worth = (card: string) => "A789TJQK".indexOf(card[0]) * 4 + SUITS.indexOf(card[1]);
  return cards.map((_, seat) => seat).sort((one, other) => worth(cards[one]) - worth(cards[other]));
}

export function commitmentOf(seed: Uint8Array, table: string, deal: number, digest: string): string {
  return sha256Hex(framed("pulka commitment 1", seed, table, deal, digest));
}

export function seedOf(text: unknown): Uint8Array {
  return unhex(text, 32);
}

export { hex };
