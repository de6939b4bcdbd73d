import assert from 'node:assert/strict';

const escape = '\u001b';
const piece = new RegExp(`${escape}\\[([\\d;?]*)([A-Za-z])|([^])`, 'gu');

/**
 * The screen of a terminal, with the sequences that the hub uses. Fails for any other, which a hub must never write.
 * Keeps all rows: `scrolled` are those above the screen.
 */
export function createEmulator(columns: number, rows: number) {
  let lines: string[] = [''];
  let row = 0;
  let column = 0;

  function newLine(): void {
    row++;
    if (row === lines.length) lines.push('');
  }

  function put(character: string): void {
    if (column === columns) {
      newLine();
      column = 0;
    }
    const line = (lines[row] ?? '').padEnd(column);
    lines[row] = line.slice(0, column) + character + line.slice(column + 1);
    column++;
  }

  function command(parameters: string, final: string): void {
    if (final === 'A') row = Math.max(lines.length - rows, row - Number(parameters), 0);
    else if (final === 'J' && parameters === '') {
      lines = lines.slice(0, row + 1);
      lines[row] = (lines[row] ?? '').slice(0, column);
    } else
      assert.ok(
        final === 'm' || /^\?2026[hl]$/.test(`${parameters}${final}`),
        `unexpected sequence ${parameters}${final}`,
      );
  }

  function write(text: string): void {
    const parts = text.matchAll(piece);
    for (const [, parameters = '', final, character = ''] of parts) {
      if (final !== undefined) command(parameters, final);
      else if (character === '\n') {
        newLine();
        column = 0;
      } else if (character === '\r') column = 0;
      else {
        assert.doesNotMatch(character, /\p{Cc}/u, `a control character: ${JSON.stringify(text)}`);
        put(character);
      }
    }
  }

  return {
    columns,
    rows,
    write,
    /** All rows without spaces at their ends. */
    text: () => lines.map(line => line.trimEnd()).join('\n'),
  };
}
