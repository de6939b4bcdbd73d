const maxRounds = 5;

/** Matches a short first line that announces the prompt: "Sure! Here is the improved prompt:". */
const announcement =
  /^(?![^\n]*\b(?:versions|prompts|options|variants|alternatives)\b)[^\n]{0,160}?\b(?:prompt|version|rewrit\w+|rewritten|rephras\w+|improved|revised|request|reformul\w+|versión|verbesserte?\w*|amélioré\w*|mejorad\w*)\b[^\n]{0,60}?:[*_]*(?:\n+|[ \t]+(?=["\u201c\u201e\u00ab`*]))/iu;
/** Matches a label before the prompt, on the same line: "Improved prompt: ...". */
const label =
  /^[*_#\s]*(?:(?:improved|rewritten|revised|enhanced|refined|better|new|final|clear(?:er)?|verbesserter|überarbeiteter|neuer) )?(?:prompt|version|answer|output|result|rewrite|a(?=: ))(?: (?:amélioré|réécrit|mejorado|reescrito))?\s*[*_]*:[*_]*\s+/iu;
const tags = /^<prompt_*>|<\/prompt_*>$/g;
const fenced = /^```(?:text|txt|plaintext|markdown|md|prompt)?[ \t]*\n([\s\S]*)\n```$/i;
const offer =
  /\n[ \t]*(?:let me know (?:if|whether)|i hope (?:this|that|it)|feel free to (?:ask|let me|modify|adjust)|would you like me to|is there anything else|lass mich wissen|n'hésitez pas|avísame)[^\n]*$/i;
const pairs = ['""', '\u201c\u201d', '\u201e\u201c', '\u00ab\u00bb', "''", '``'];

/**
 * Removes what models put around a prompt: an announcement before it, an offer after it, and quotes, a code fence or
 * the delimiters of the frame around all of it. Nothing is removed that the given prompt has, too.
 */
export function unwrap(text: string, prompt: string): string {
  let rest = text.trim();
  for (let round = 0; round < maxRounds; round++) {
    const shorter = unwrapOnce(rest, prompt.trim()).trim();
    if (shorter === rest || shorter === '') break;
    rest = shorter;
  }
  return rest;
}

function unwrapOnce(text: string, prompt: string): string {
  const without = (pattern: RegExp) =>
    new RegExp(pattern.source, pattern.flags.replace('g', '')).test(prompt)
      ? text
      : text.replace(pattern, '');
  for (const pattern of [tags, announcement, label, offer]) {
    const shorter = without(pattern);
    if (shorter !== text) return shorter;
  }
  const inner = fenced.exec(text)?.[1];
  if (inner !== undefined && !inner.includes('```') && !fenced.test(prompt)) return inner;
  const isQuoted = pairs.some(([open = '', close = '']) => {
    const isWhole = (whole: string) => whole.startsWith(open) && whole.endsWith(close);
    const between = text.slice(1, -1);
    const isAlone = !between.includes(open) && !between.includes(close);
    return text.length > 2 && isWhole(text) && !isWhole(prompt) && isAlone;
  });
  return isQuoted ? text.slice(1, -1) : text;
}
