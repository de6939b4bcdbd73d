const links = /\[\[([^\]|#^\n]+)(?:[#^][^\]|\n]*)?(?:\|[^\]\n]*)?\]\]/g;

/** Returns the names that the links of a note point to. Links in code do not count. */
export function linksIn(note: string): readonly string[] {
  const body = note
    .replace(/^---\n[^]*?\n---\n/, '')
    .replaceAll(/^```[^]*?^```/gm, '')
    .replaceAll(/(`+)(?!`)[^\n]*?(?<!`)\1(?!`)/g, '')
    .replaceAll(/\\[[\]]/g, '');
  return [...body.matchAll(links)].map(([, name = '']) => name.trim());
}
