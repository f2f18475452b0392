// One table: the chain of its commits, its draws, its deals, tricks and settlement (events.md).

import { hex, joined, utf8 } from "./octets.ts";
import { sha256Hex } from "./sha256.ts";
import { commitmentOf, dealt, drawnOrder, keyed, leadsTo, nextLink, saltOf, seedOf, shuffled } from "./deck.ts";
import { parsed, sortedText, type Json } from "./strict_json.ts";
import { sumsToZero, trickProblems } from "./play.ts";

export interface Problem {
  table: string | null;
  revision: number;
  code: string;
  message: string;
}

interface Known {
  link: string;
  round: number;
}

type Say = (code: string, message: string) => void;

interface Deal {
  [type: string]: Json[];
}

export interface TableVerdict {
  problems: Problem[];
  hashes: string[];
  deals: number;
  over: boolean;
}

/** What follows from a table's stored commits, revision 1 first. */
export function checkTable(table: string, commits: string[]): TableVerdict {
  const problems: Problem[] = [];
  const hashes: string[] = [];
  const walk = new Walk(table);
  let before = "0".repeat(64);
  let time = 0;
  let broken = false;
  commits.forEach((stored, place) => {
    const revision = place + 1;
    const say: Say = (code, message) => problems.push({ table, revision, code, message });
    const hash = sha256Hex(utf8(stored));
    hashes.push(hash);
    if (broken) return;
    try {
      const commit = parsed(stored);
      if (commit.aggregate !== `table.${table[0]}.${table}`) say("foreign", "the commit is another aggregate's");
      if (commit.revision !== revision) {
        say(commit.revision > revision ? "missing" : "added", `revision ${commit.revision} stands here`);
        broken = true; // one damage is told once
      } else if (commit.prev_hash !== before) {
        problems.push({ table, revision: Math.max(1, revision - 1), code: "changed", message: "its hash is not what the next commit names" });
      }
      if (!(commit.at >= time)) say("time_back", "it is earlier than the commit before");
      time = commit.at;
      before = hash;
      walk.commit(commit.events, say);
    } catch (error) {
      say(walk.reading ? "malformed" : "unreadable", String(error));
      broken = !walk.reading;
      walk.reading = false;
    }
  });
  return { problems, hashes, deals: walk.deals, over: walk.over };
}

function digestOf({ convention, players, target, terms }: Json): string {
  return sha256Hex(utf8(sortedText({ convention, players, target, terms })));
}

/** A table's events in their order, and what is known at each. */
class Walk {
  reading = false;
  deals = 0;
  over = false;
  private opened: Json = null;
  private digest = "";
  private players = 0;
  private server: Known | null = null;
  private chains = new Map<number, Known>();
  private opening: [number, string][] = [];
  private lobbyLinks: [number, string][] = [];
  private number = 0;
  private deal: Deal | null = null;
  private draw: Deal = {};

  private readonly table: string;

  constructor(table: string) {
    this.table = table;
  }

  commit(events: Json[], say: Say): void {
    this.reading = true;
    for (const event of events) this.event(event, say);
    this.reading = false;
  }

  private event(event: Json, say: Say): void {
    const stays = this.deal ?? this.draw;
    if (event.type !== "DealStarted") (stays[event.type] ??= []).push(event);
    switch (event.type) {
      case "PulkaOpened":
        [this.opened, this.digest, this.players] = [event, event.rules_digest, event.players];
        if (digestOf(event) !== event.rules_digest) say("rules_digest", "the digest is not that of these terms");
        break;
      case "ChainsCommitted":
        this.chainsCommitted(event, say);
        break;
      case "ChainCommitted":
        this.chains.set(event.seat, { link: event.end, round: event.first - 1 });
        break;
      case "LinkOpened":
        this.linkOpened(event, say);
        break;
      case "LinkMissed":
        if (!this.chains.delete(event.seat)) say("link", `seat ${event.seat} has no chain that could be missed`);
        break;
      case "SeatsDrawn":
        this.seatsDrawn(event, say);
        break;
      case "DealerDrawn":
        this.dealerDrawn(event, say);
        break;
      case "DealStarted":
        this.dealStarted(event, say);
        break;
      case "CardsDealt":
        for (const [seat, known] of this.chains) if (known.round < this.number) say("link", `seat ${seat} neither opened nor missed its link`);
        break;
      case "DealRevealed":
        this.revealed(event, say);
        break;
      case "SubstituteSeated":
        this.chains.delete(event.seat); // a chain is its player's
        break;
      case "NewcomerSeated":
        this.digest = event.rules_digest;
        this.players += 1;
        this.chains = new Map([...this.chains].map(([seat, known]) => [event.moved[seat], known]));
        break;
      case "PulkaClosed":
        this.over = true;
        if (!Array.isArray(event.settlement?.net)) say("malformed", "the settlement has no sums");
        else if (!sumsToZero(event.settlement.net)) say("zero_sum", "the settlement does not sum to zero");
        break;
      case "ResultCorrected":
        if (!sumsToZero(event.amounts)) say("zero_sum", "the correction does not sum to zero");
        break;
    }
  }

  private chainsCommitted(event: Json, say: Say): void {
    if (event.algorithm !== 2) say("unknown_algorithm", `algorithm ${event.algorithm}`);
    this.server = { link: event.server, round: event.first - 1 };
    (event.seats as string[]).forEach((end, seat) => {
      if (end) this.chains.set(seat, { link: end, round: event.first - 1 });
    });
  }

  private linkOpened(event: Json, say: Say): void {
    const known = this.chains.get(event.seat);
    seedOf(event.link);
    if (!known || known.round >= this.number || !leadsTo(this.table, event.link, this.number - known.round, known.link)) {
      say("link", `the link of seat ${event.seat} does not lead to what is known of its chain`);
    }
    this.chains.set(event.seat, { link: event.link, round: this.number });
    this.opening.push([event.seat, event.link]);
    if (this.number === 0) this.lobbyLinks.push([event.seat, event.link]);
  }

  private sortedLinks(links: [number, string][]): (number | string)[] {
    return [...links].sort((one, other) => one[0] - other[0]).flat();
  }

  /** The promise of a draw: the server's link of round 0 leads to its end; with algorithm 1 that of "deal" 0. */
  private drawPromise(started: Json, seed: Uint8Array, text: string, say: Say): void {
    if (!started) throw new Error("a draw that was never started");
    const promise = this.server ? nextLink(this.table, text) : commitmentOf(seed, this.table, 0, this.digest);
    if (promise !== started.commitment || (this.server && this.server.round < 0 && this.server.link !== promise)) {
      say("commitment", "the draw's seed is not the one that was promised");
    }
    const digest = sha256Hex(joined(saltOf(seed, "server_seed"), utf8(text)));
    if (digest !== started.server_seed.digest) say("digest", "the draw's sealed seed is another");
    if (this.server) this.server = { link: text, round: 0 };
  }

  private seatsDrawn(event: Json, say: Say): void {
    const started = this.draw["SeatDrawStarted"]?.[0];
    const seed = seedOf(event.server_seed);
    if (started && started.algorithm !== (this.server ? 2 : 1)) say("unknown_algorithm", `algorithm ${started.algorithm}`);
    this.drawPromise(started, seed, event.server_seed, say);
    const drawn: [number, number][] = (this.draw["SeatCardDrawn"] ?? []).map((one) => [one.seat, one.place]);
    const links = this.server ? this.sortedLinks(this.lobbyLinks) : [];
    const deck = shuffled(keyed(seed, `pulka draw ${this.server ? 2 : 1}`, this.table, this.digest, ...drawn.flat(), ...links));
    const cards: string[] = [];
    for (const [seat, place] of drawn) cards[seat] = deck[place - 1];
    const order = drawnOrder(cards);
    const seats = order.map((seat) => this.opened.seats[seat]);
    if (cards.join() !== event.cards.join() || seats.join() !== event.seats.join()) say("draw", "cards or seats do not follow from the draw");
    this.chains = new Map([...this.chains].map(([seat, known]) => [order.indexOf(seat), known]));
  }

  private dealerDrawn(event: Json, say: Say): void {
    const seed = seedOf(event.server_seed);
    const started = this.draw["DealerDrawStarted"]?.[0];
    if (started) this.drawPromise(started, seed, event.server_seed, say);
    const drawn = keyed(seed, "pulka dealer 2", this.table, this.digest, ...this.sortedLinks(this.lobbyLinks));
    const dealer = Number(new DataView(drawn.buffer, drawn.byteOffset, 8).getBigUint64(0) % BigInt(this.players));
    if (dealer !== event.seat) say("draw", `the first dealer is seat ${dealer}`);
  }

  private dealStarted(event: Json, say: Say): void {
    if (this.deal) say("not_revealed", `deal ${this.number} was never revealed`);
    const first = this.draw["DealerDrawn"]?.[0];
    if (event.number !== this.number + 1) say("incomplete", `deal ${event.number} follows deal ${this.number}`);
    else if (event.number === 1 && first && first.seat !== event.dealer) say("draw", "another one deals first");
    if (event.algorithm !== (this.server ? 2 : 1)) say("unknown_algorithm", `algorithm ${event.algorithm}`);
    this.number = event.number;
    this.deal = { DealStarted: [event] };
    this.opening = [];
  }

  private revealed(event: Json, say: Say): void {
    const deal = this.deal;
    this.deal = null;
    this.deals += 1;
    if (!deal || event.number !== this.number) {
      say("incomplete", "what is revealed was never started");
      return;
    }
    const started = deal["DealStarted"][0];
    const seed = seedOf(event.server_seed);
    this.promise(started, seed, event.server_seed, say);
    const box = (sealed: Json, label: string, text: string) => {
      if (sealed && sha256Hex(joined(saltOf(seed, label), utf8(text))) !== sealed.digest) say("digest", `the box ${label} holds something else`);
    };
    box(started.server_seed, "server_seed", event.server_seed);
    for (const [label, salt] of Object.entries(event.salts)) if (hex(saltOf(seed, label)) !== salt) say("salt", `the salt of ${label} does not follow`);
    const cut = deal["DeckCut"]?.[0];
    const cards = deal["CardsDealt"]?.[0];
    if (!cut || !cards) {
      if (event.hands.length > 0) say("incomplete", "hands without a cut or without cards");
      return;
    }
    const seeds = (deal["SeedAdded"] ?? []).flatMap((one) => [one.seat, one.seed]);
    const about = [this.table, event.number, this.digest, cut.at];
    const links = this.server ? [seeds.length / 2, ...seeds, ...this.sortedLinks(this.opening)] : seeds;
    const deck = shuffled(keyed(seed, `pulka shuffle ${this.server ? 2 : 1}`, ...about, ...links));
    const { hands, talon } = dealt([...deck.slice(cut.at), ...deck.slice(0, cut.at)], this.players, started.dealer);
    if (hands.join() !== event.hands.join() || talon !== event.talon) say("shuffle", "the cards do not follow from seeds, links and cut");
    cards.hands.forEach((sealed: Json, hand: number) => box(sealed, `hand:${hand}`, event.hands[hand]));
    box(cards.talon, "talon", event.talon);
    for (const one of deal["DarkTalonTaken"] ?? []) if (!deal["TalonReturned"]) box(one.cards, "talon", event.talon);
    for (const one of deal["HandSeen"] ?? []) if (!deal["TalonReturned"] && !deal["CardGiven"]) box(one.cards, `seen:${one.hand}`, event.hands[one.hand]);
    const laid = deal["CardsDiscarded"] ?? [];
    if (laid.length > 0) box(laid[laid.length - 1].cards, "discard", event.discard); // what was laid before that was taken back
    for (const problem of trickProblems(deal)) say("trick", problem);
  }

  private promise(started: Json, seed: Uint8Array, text: string, say: Say): void {
    if (!this.server) {
      if (commitmentOf(seed, this.table, this.number, this.digest) !== started.commitment) say("commitment", "the seed is not the one that was promised");
      return;
    }
    const steps = this.number - this.server.round;
    if (nextLink(this.table, text) !== started.commitment || !leadsTo(this.table, text, steps, this.server.link)) {
      say("commitment", "the server's link does not lead to the one that was promised");
    }
    this.server = { link: text, round: this.number };
  }
}
