/**
 * The prompt as caches and models get it: one form of each character (NFC), `\n` between lines, and no blank
 * lines at the end. Case, inner blanks and all else stay, for they may mean something.
 */
export function normalizePrompt(prompt: string): string {
  const text = prompt.normalize('NFC').replaceAll(/\r\n?/g, '\n');
  const end = text.indexOf('\n', text.trimEnd().length);
  return end < 0 ? text : text.slice(0, end);
}
