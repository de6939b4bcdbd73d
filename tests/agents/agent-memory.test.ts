import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeTempFolder } from '#helpers/temp-folder';
import { createAgentFiles } from '../../hub/agents/agent-files.ts';
import { createAgentMemory } from '../../hub/agents/agent-memory.ts';
import { createManualClock } from '../helpers/clock.ts';
import { createRecordingLog } from '../helpers/recording-log.ts';

/**
 * Creates nested folders in an agent's workspace whose path is too long for the system, as the agent can from inside.
 */
async function createDeep(dataDir: string, clock = createManualClock()) {
  const memory = createAgentMemory(dataDir, { clock, log: createRecordingLog().log });
  const workspace = memory.workspaceOf('ada');
  await mkdir(workspace, { recursive: true });
  const script = `
    for (let depth = 0; depth < 30; depth++) {
      fs.mkdirSync('d'.repeat(200));
      process.chdir('d'.repeat(200));
    }`;
  execFileSync(process.execPath, ['--eval', script], { cwd: workspace });
  return memory;
}

test('an agent can be removed twice although some of its files cannot be deleted', async () => {
  const folder = makeTempFolder('memory');
  const clock = createManualClock();
  for (let time = 0; time < 2; time++) {
    clock.advance(1);
    const memory = await createDeep(folder, clock);
    await memory.remove('ada');
    expect(existsSync(memory.workspaceOf('ada'))).toBe(false);
    expect(await memory.ids()).toEqual([]);
  }
  execFileSync('rm', ['-rf', join(folder, 'agents')]);
});

test('the files of a workspace with a path that is too long for the system are listed without it', async () => {
  const folder = makeTempFolder('memory');
  const memory = await createDeep(folder);
  expect(await createAgentFiles(memory.workspaceOf).list('ada')).toEqual([]);
  execFileSync('rm', ['-rf', join(folder, 'agents')]);
});
