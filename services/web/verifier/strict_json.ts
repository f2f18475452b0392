// JSON as stored texts have it: no blanks, each name once in an object, strings written in one way only (events.md, "The chain").

// deno-lint-ignore no-explicit-any
export type Json = any;

/** What the text tells; throws where it is no JSON, or could be written otherwise. */
export function parsed(text: string): Json {
  let at = 0;

  function take(pattern: RegExp): string {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) throw new Error(`no such JSON at character ${at}`);
    at += match[0].length;
    return match[0];
  }

  function string(): string {
    const written = take(/"(?:[^"\\]|\\.)*"/y);
    const meant = JSON.parse(written);
    if (JSON.stringify(meant) !== written) throw new Error(`a string could be written otherwise before character ${at}`);
    return meant;
  }

  function value(): Json {
    const first = text[at];
    if (first === '"') return string();
    if (first !== "{" && first !== "[") return JSON.parse(take(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y));
    const end = first === "{" ? "}" : "]";
    const named = new Map<string, Json>();
    const listed: Json[] = [];
    at++;
    while (text[at] !== end) {
      if (named.size + listed.length > 0) take(/,/y);
      if (first === "[") listed.push(value());
      else {
        const name = string();
        if (named.has(name)) throw new Error(`the name ${name} stands twice`);
        take(/:/y);
        named.set(name, value());
      }
    }
    at++;
    return first === "[" ? listed : Object.fromEntries(named);
  }

  const whole = value();
  if (at !== text.length) throw new Error(`more text after character ${at}`);
  return whole;
}

/** The JSON text with sorted keys and no blanks: what `rules_digest` is made of. */
export function sortedText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${sortedText(value[name])}`).join(",")}}`;
}
