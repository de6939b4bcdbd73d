import assert from 'node:assert/strict';

const escape = '\u001b';
const piece = new RegExp(`${escape}\\[([\\d;?]*)([A-Za-z])|([^])`, 'gu');

/**
 * Creates a terminal screen that understands the control sequences of the hub, and fails for all others, which the hub
 * must never write. Keeps all rows; those above the screen are `scrolled`.
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
    /** Returns all rows, without trailing spaces. */
    text: () => lines.map(line => line.trimEnd()).join('\n'),
  };
}
