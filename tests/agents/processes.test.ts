import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { createProcessTools } from '../../images/agent/source/tools/processes.ts';

const { workspace } = vi.hoisted(() => ({ workspace: { path: '' } }));
vi.mock('../../images/agent/source/tools/workspace.ts', () => ({
  ToolError: Error,
  get workspace() {
    workspace.path ||= mkdtempSync(join(tmpdir(), 'workspace-'));
    return workspace.path;
  },
}));
afterAll(() => rmSync(workspace.path, { recursive: true, force: true }));

// As in the image of agents, whose system is Linux.
const isThere = process.platform === 'linux' && spawnSync('python3', ['--version']).status === 0;

test.runIf(isThere)(
  'programs that Python starts write into the result, and read neither calls nor answers',
  async () => {
    const ending = new AbortController();
    const tools = createProcessTools(() => 20);
    const python = async (code: string) =>
      await tools.find(({ name }) => name === 'python_repl')?.call({ code }, ending.signal);
    expect(await python('import os; os.system("echo one; echo two >&2"); x = 6')).toEqual({
      text: 'one\ntwo\n',
      isError: false,
    });
    expect(await python('print("is"); os.system("cat; echo done"); x * 7')).toEqual({
      text: 'is\n42\ndone\n',
      isError: false,
    });
    // Python and what it has started end here.
    const over = python('import time; time.sleep(60)');
    ending.abort();
    expect(await over).toMatchObject({ isError: true });
  },
);
