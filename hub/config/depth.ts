/** Far more than any real file needs, and far less than overflows a parser's stack. */
const maxDepth = 100;

export const tooDeep = `it is nested deeper than ${maxDepth} levels: reduce the nesting`;

/**
 * Returns the offset at which a text is nested too deeply for a parser, or undefined. For JSON it counts brackets
 * outside of strings and comments. In YAML, only brackets and nested lists on one line can nest without indentation.
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

/** Brackets in plain YAML text have no meaning, so only a long run of unclosed ones counts. */
function findDeepYaml(text: string): number | undefined {
  const inLine = /(?:[-?][ \t]+){101}/.exec(text);
  const brackets = /(?:[[{](?:[^[{\]}\n]{0,200}\n?)){101}/.exec(text);
  return inLine?.index ?? brackets?.index;
}
