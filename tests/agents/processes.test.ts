import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createProcessTools, runShell } from '../../images/agent/source/tools/processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'workspace-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// The image of agents is a Linux system, so the tools are tested on Linux only.
const isThere = process.platform === 'linux' && spawnSync('python3', ['--version']).status === 0;

/** Returns a function that runs code in the `python_repl` of a new agent. */
function pythonOf(signal = new AbortController().signal) {
  const tools = createProcessTools(() => 20, folder);
  const repl = tools.find(({ name }) => name === 'python_repl');
  return async (code: string) => await repl?.call({ code }, signal);
}

test.runIf(isThere)(
  'output of programs that Python starts is in the result, and they cannot read the protocol',
  async () => {
    const ending = new AbortController();
    const python = pythonOf(ending.signal);
    expect(await python('import os; os.system("echo one; echo two >&2"); x = 6')).toEqual({
      text: 'one\ntwo\n',
      isError: false,
    });
    expect(await python('print("is"); os.system("cat; echo done"); x * 7')).toEqual({
      text: 'is\n42\ndone\n',
      isError: false,
    });
    // The abort ends Python and the programs that it started.
    const over = python('import time; time.sleep(60)');
    ending.abort();
    expect(await over).toMatchObject({ isError: true });
  },
);

test.runIf(isThere)('programs of one step of the model run one after the other', async () => {
  const ending = new AbortController();
  const python = pythonOf(ending.signal);
  const results = await Promise.all(['x = 1; x', 'x += 1; x', 'x + 1'].map(python));
  expect(results.map(result => result?.text)).toEqual(['1\n', '2\n', '3\n']);
  const over = [python('import time; time.sleep(60)'), python('x = 0')];
  ending.abort();
  for (const result of await Promise.all(over))
    expect(result).toEqual({ text: 'it was cancelled', isError: true });
});

test.runIf(isThere)('long output of Python is cut, and its variables stay', async () => {
  const ending = new AbortController();
  const python = pythonOf(ending.signal);
  const long = await python('x = 6; print(chr(0x1f600) * 65_536)');
  expect(long?.isError).toBe(false);
  expect(long?.text).toBe(`${'\u{1f600}'.repeat(16_384)}\n[196609 more bytes were cut]`);
  const started = await python('import os; print("is"); os.system("head -c 70000 /dev/zero")');
  expect(started?.text.slice(-40)).toMatch(/\0\n\[\d+ more bytes were cut\]$/);
  expect(await python('x')).toEqual({ text: '6\n', isError: false });
  const over = python('import time; time.sleep(60)');
  ending.abort();
  await over;
});

test.runIf(isThere)(
  'a command that is too long for the system is refused with the remedy',
  async () => {
    const shell = createProcessTools(() => 20, folder).find(({ name }) => name === 'shell');
    const { signal } = new AbortController();
    const fits = `true ${'x'.repeat(131_066)}`;
    expect(await shell?.call({ command: fits }, signal)).toEqual({
      text: '[exit code 0]',
      isError: false,
    });
    await expect(shell?.call({ command: `${fits}x` }, signal)).rejects.toThrow(
      'command: has 131072 bytes; at most 131071 can be run. Write the long part into a file with file_write, and use the file in the command',
    );
  },
);

test.runIf(isThere)('a loaded tool gets an input of any length', async () => {
  const { signal } = new AbortController();
  const read = 'import json, sys; print(len(json.load(sys.stdin)["text"]))';
  const result = await runShell({
    folder,
    command: `python3 -c '${read}'`,
    input: JSON.stringify({ text: 'x'.repeat(300_000) }),
    seconds: 20,
    signal,
  });
  expect(result).toEqual({ text: '300000\n\n[exit code 0]', isError: false });
  // A program that does not read its input ends as it would without.
  const unread = { folder, command: 'exit 3', input: 'x'.repeat(300_000), seconds: 20, signal };
  expect(await runShell(unread)).toEqual({ text: '[exit code 3]', isError: true });
});
