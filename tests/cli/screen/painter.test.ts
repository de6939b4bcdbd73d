import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createPainter } from '../../../hub/cli/screen/painter.ts';
import { createEmulator } from './emulator.ts';

const frame = (...texts: readonly string[]) => texts.map(text => ({ text, width: text.length }));
const settled = () => new Promise(resolve => setImmediate(resolve));

test('log lines are printed above the frame, which is shown once', async () => {
  const emulator = createEmulator(20, 5);
  let shown = frame('one', 'two');
  const painter = createPainter(
    { columns: 20, rows: 5, write: async text => emulator.write(text) },
    () => shown,
  );
  painter.repaint();
  await settled();
  painter.print('a log line', 'a line that is longer than the terminal');
  await settled();
  shown = frame('three');
  painter.repaint();
  await settled();
  const expected = 'a log line\na line that is longe\nr than the terminal\n';
  assert.equal(emulator.text(), `${expected}three\n`);
  await painter.close();
  assert.equal(emulator.text(), expected);
});

test('the wrapped lines of the frame are erased on a terminal that became narrower', async () => {
  const written: string[] = [];
  const terminal = { columns: 20, rows: 5, write: async (text: string) => void written.push(text) };
  const painter = createPainter(terminal, () => frame('x'.repeat(15), 'y'));
  painter.repaint();
  await settled();
  terminal.columns = 8;
  painter.repaint();
  await settled();
  assert.ok(
    written[1]?.includes('\u001b[3A\u001b[J'),
    'two rows of the first line, one of the second',
  );
});

test('a terminal that blocks gets the newest frame and a bounded number of lines when it reads again', async () => {
  const written: string[] = [];
  let open = Promise.withResolvers<void>();
  let painted = 0;
  const painter = createPainter(
    {
      columns: 80,
      rows: 24,
      async write(text) {
        written.push(text);
        await open.promise;
      },
    },
    () => frame(`frame ${++painted}`),
  );
  painter.repaint();
  for (let at = 0; at < 1_500; at++) painter.print(`line ${at}`);
  assert.equal(written.length, 1);
  open.resolve();
  open = Promise.withResolvers();
  open.resolve();
  await settled();
  assert.equal(written.length, 2);
  assert.match(written[1] ?? '', /500 lines were not shown: the terminal did not read\nline 500\n/);
  assert.match(written[1] ?? '', /line 1499\nframe 2\n/);
});

test('lines printed as a write ends are shown without a further event', async () => {
  for (let turns = 0; turns < 8; turns++) {
    const written: string[] = [];
    const write = Promise.withResolvers<void>();
    const painter = createPainter(
      {
        columns: 80,
        rows: 24,
        async write(text) {
          written.push(text);
          await write.promise;
        },
      },
      () => frame('the frame'),
    );
    painter.repaint();
    write.resolve();
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    painter.print('the last line');
    await settled();
    assert.ok(written.join('').includes('the last line'), `after ${turns} turns of the microtasks`);
  }
});
