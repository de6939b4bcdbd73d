/** Far above any real file, and far below what the stack of a parser holds. */
const maxDepth = 100;

export const tooDeep = `it is nested deeper than ${maxDepth} levels: write it flatter`;

/**
 * Where a text is nested too deeply for a parser; undefined where it is not. Counts brackets outside of strings and
 * comments of JSON, which is all that YAML can nest without indentation but for lists in one line.
 */
export function findTooDeep(text: string, format: 'json' | 'yaml'): number | undefined {
  if (format === 'yaml') return findDeepYaml(text);
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(
    /"(?:[^"\\\n]|\\.)*"?|\/\/.*|\/\*[^]*?\*\/|[[{\]}]/g,
  )) {
    if (token === '[' || token === '{') depth += 1;
    else if (token === ']' || token === '}') depth -= 1;
    if (depth > maxDepth) return index;
  }
  return undefined;
}

/** In plain text brackets mean nothing: only many of them that nothing closes are too deep. */
function findDeepYaml(text: string): number | undefined {
  const inLine = /(?:[-?][ \t]+){101}/.exec(text);
  const brackets = /(?:[[{](?:[^[{\]}\n]{0,200}\n?)){101}/.exec(text);
  return inLine?.index ?? brackets?.index;
}
