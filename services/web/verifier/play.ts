// What can be said of the play without the rules: a trick goes to the highest card, and whists sum to zero.

import type { Json } from "./strict_json.ts";

const RANKS = "789TJQKA";
const UNDONE = ["ActTakenBack", "TricksTakenBack", "TrickForfeited", "RestForfeited", "OrderRefused", "ContractTakenBack", "Ruled"];

/** A deal's tricks of three cards that went to another than the highest. Deals where something was taken back are passed over. */
export function trickProblems(deal: { [type: string]: Json[] }): string[] {
  if (UNDONE.some((type) => deal[type])) return [];
  const declared = deal["ContractDeclared"] ?? [];
  const bid = deal["AuctionWon"]?.[0]?.bid ?? "all_pass";
  const contract: string = declared.length > 0 ? declared[declared.length - 1].contract : bid;
  const trump = /^\d+[SCDH]$/.test(contract) ? contract[contract.length - 1] : "";
  const cards = deal["CardPlayed"] ?? [];
  const won = deal["TrickWon"] ?? [];
  const opened = (deal["TalonCardOpened"] ?? []).length; // a talon card leads a trick, or names its suit: the first tricks
  const found: string[] = [];
  won.forEach((trick, place) => {
    const three = cards.slice(3 * place, 3 * place + 3);
    if (place < opened || three.length < 3) return;
    const worth = ({ card }: Json) => (card[1] === trump ? 20 : card[1] === three[0].card[1] ? 10 : 0) + RANKS.indexOf(card[0]);
    const best = three.reduce((one, other) => (worth(other) > worth(one) ? other : one));
    if (best.seat !== trick.seat) found.push(`trick ${trick.number} is seat ${best.seat}'s`);
  });
  return found;
}

/** Whether exact numbers (`"184/3"`, `-5`) sum to zero. */
export function sumsToZero(amounts: (string | number)[]): boolean {
  let [above, below] = [0n, 1n];
  for (const amount of amounts) {
    const [over, under] = String(amount).split("/");
    [above, below] = [above * BigInt(under ?? "1") + BigInt(over) * below, below * BigInt(under ?? "1")];
  }
  return above === 0n;
}
