/** Maximum nesting depth, as of JSON-RPC messages. */
const maxDepth = 512;

/**
 * True if an object in a JSON text has a member twice, at any depth, which parsers interpret differently, or if values are
 * nested in more than 512 levels. `text` must be valid JSON.
 */
export function hasUnclearMembers(text: string): boolean {
  /** Names of the members of each open object; undefined for an open array. */
  const open: (Set<unknown> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '{' || char === '[') {
      if (open.push(char === '{' ? new Set() : undefined) > maxDepth) return true;
    } else if (char === '}' || char === ']') open.pop();
    else if (char === '"') {
      const start = at;
      at = endOfString(text, start);
      const names = open.at(-1);
      if (!names || !isName(text, at)) continue;
      // Parsed, because the same name can be written with other escapes.
      const name: unknown = JSON.parse(text.slice(start, at + 1));
      if (names.has(name)) return true;
      names.add(name);
    }
  }
  return false;
}

/** Returns the index of the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

const colon = /[ \n\r\t]*:/y;

/** True if a colon follows the string that ends at `end`. */
function isName(text: string, end: number): boolean {
  colon.lastIndex = end + 1;
  return colon.test(text);
}
