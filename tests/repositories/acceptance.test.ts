import { randomUUID } from 'node:crypto';
import { renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HubError, systemClock } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { caller } from '#helpers/principal';
import type { Repository, Worktree } from '#repositories';
import type { Exit } from '#runtimes';
import { createAcceptance } from '../../hub/repositories/acceptance.ts';
import { nodeImage } from '../runtimes/docker/hub.ts';
import { type Scene, createScene, failureOf, signal, workOn } from './harness.ts';

describeWithEngine('acceptance commands', () => {
  let scene: Scene;
  let repository: Repository;
  let worktree: Worktree;
  beforeAll(async () => {
    scene = createScene('docker');
    repository = await scene.open(scene.create());
    worktree = await workOn(repository, 'gate', {
      'src/x.js': "console.log('x')\n",
      'run.sh': '#!/bin/sh\necho ran\n',
    });
  });
  afterAll(async () => {
    await scene?.[Symbol.asyncDispose]();
  });
  const run = (
    commands: readonly string[],
    more: { readonly timeoutMs?: number; readonly image?: string } = {},
    ending = signal,
  ) =>
    scene.repositories.runAcceptance(
      { repository, worktree, commands, timeoutMs: 60_000, ...more },
      ending,
    );

  test('run in one copy of the worktree, with its tools, and each has a result', async () => {
    const report = await run([
      'node src/x.js && git --version && python3 -c "print(1)" && npm --version > made.txt',
      'cat made.txt && cat a.txt',
      'echo out; echo hunter2 >&2; exit 3',
      'nothing-of-the-kind',
      'sh run.sh; chmod +x run.sh; ./run.sh; ls -a',
    ]);
    expect(report).toMatchObject({ passed: false, image: 'agenthub/git' });
    expect(report.commands.map(({ exitCode }) => exitCode)).toEqual([0, 0, 3, 127, 0]);
    const [first, second, third, fourth, fifth] = report.commands.map(({ output }) => output);
    expect(first).toMatch(/^x\ngit version 2\.\d+\.\d+\n1$/);
    expect(second).toMatch(/^\d+\.\d+\.\d+\none$/);
    expect(third).toBe('out\n[redacted]');
    expect(fourth).toContain(
      '(a command is not in the image: name one that has it in acceptance.image)',
    );
    expect(fifth).toBe('ran\nran\n.\n..\na.txt\nmade.txt\nrun.sh\nsrc');
    expect(report.commands.every(({ durationMs, timedOut }) => durationMs >= 0 && !timedOut)).toBe(
      true,
    );
  });

  test('have no network, no privileges, and no write access to the repository', async () => {
    const { passed, commands } = await run([
      'test "$(ls /sys/class/net)" = lo',
      `! touch ${repository.root}/x ${worktree.path}/x 2>/dev/null`,
      `! cat ${repository.root}/.git/config ${repository.root}/a.txt ${worktree.path}/../../../config 2>/dev/null`,
      `! touch /x 2>/dev/null && test "$(id -u)" -ne 0`,
      'grep -q "^CapEff:.0000000000000000$" /proc/self/status && grep -q "^NoNewPrivs:.1$" /proc/self/status',
    ]);
    expect(commands.filter(({ exitCode }) => exitCode !== 0)).toEqual([]);
    expect(passed).toBe(true);
  });

  test('do not follow a link in place of the worktree', async () => {
    const moved = `${worktree.path}-moved`;
    const other = scene.create({ 'private.txt': 'private\n' });
    renameSync(worktree.path, moved);
    symlinkSync(other, worktree.path);
    try {
      expect(await failureOf(run(['cat private.txt']))).toMatch(
        /^HUB_GIT_FAILED: .*is not the worktree of the task/s,
      );
    } finally {
      unlinkSync(worktree.path);
      renameSync(moved, worktree.path);
    }
    expect((await run(['cat a.txt'])).passed).toBe(true);
  });

  test('end at the time limit, or at their memory limit, and say so', async () => {
    const late = await run(['echo begun; sleep 60', 'echo never'], { timeoutMs: 1_500 });
    expect(late.commands).toMatchObject([
      { exitCode: undefined, output: 'begun', timedOut: true },
      { exitCode: undefined, output: '', timedOut: false },
    ]);
    const text = 'x'.repeat(4_000);
    const flood = await run([`while :; do echo ${text}; done`]);
    expect(flood.commands[0]).toMatchObject({ exitCode: undefined, timedOut: false });
    expect(flood.commands[0]?.output).toMatch(/\(stopped: it writes too much\)/);
    expect(flood.commands[0]?.output.length).toBeLessThan(17_000);
  });

  test('cannot forge a result by writing what the hub writes', async () => {
    const forged = 'end 1 0\n';
    const { commands } = await run([
      `env | grep -c word; tr '\\0' '\\n' < /proc/$PPID/cmdline | grep -E '^[0-9a-f-]{36}$'; printf '${forged.trim()}'; exit 5`,
    ]);
    expect(commands[0]).toMatchObject({ exitCode: 5, output: '0\nend 1 0' });
  });

  test('use another image if it exists, and name the pull command if not', async () => {
    expect(await run(['node --version'], { image: nodeImage })).toMatchObject({
      passed: true,
      image: nodeImage,
    });
    expect(await failureOf(run(['true'], { image: 'example.com/none:1' }))).toBe(
      'HUB_IMAGE_MISSING: acceptance.image: the image example.com/none:1 is not on this engine. Bring it there: docker pull example.com/none:1',
    );
  });

  test('end with their signal, and leave no container', async () => {
    const ending = new AbortController();
    const running = failureOf(run(['echo begun; sleep 60'], {}, ending.signal));
    ending.abort(new HubError('HUB_TASK_BUSY', 'enough'));
    expect(await running).toBe('HUB_TASK_BUSY: enough');
    const left = await scene.hub.leftovers();
    expect(left.filter(name => name.includes('.gate-'))).toEqual([]);
  });

  test.each([
    [{ commands: [''] }, 'acceptance.commands[0]'],
    [{ commands: Array.from({ length: 51 }, () => 'true') }, 'acceptance.commands'],
    [{ commands: ['true'], image: '--privileged' }, 'acceptance.image'],
    [{ commands: ['true'], timeoutMs: 0 }, 'acceptance.timeout'],
  ])('are refused if they are invalid: %#', async (wrong, field) => {
    const { commands, ...more } = wrong;
    expect(await failureOf(run(commands, more))).toContain(`HUB_REQUEST_INVALID: ${field}`);
  });
});

test('acceptance commands never run without a container', async () => {
  await using scene = createScene('process');
  const repository = await scene.repositories.open(scene.create(), caller, signal);
  const worktree = await workOn(repository, 'gate', { x: 'x' });
  const run = { repository, worktree, commands: ['true'], timeoutMs: 1_000 };
  expect(await failureOf(scene.repositories.runAcceptance(run, signal))).toContain(
    'HUB_ENGINE_UNREACHABLE: acceptance commands need Docker',
  );
});

test('acceptance commands do not count as failed if their container is lost', async () => {
  await using scene = createScene('process');
  const repository = await scene.open(scene.create());
  const worktree = await workOn(repository, 'gate', { x: 'x' });
  const runWith = (exit: Exit) =>
    createAcceptance(
      { runsIn: 'docker', inContainer: false, imagesDir: '' },
      {
        clock: systemClock,
        newId: randomUUID,
        redact: text => text,
        identify: async () => undefined,
        async launch(_spec, events) {
          const exited = Promise.withResolvers<Exit>();
          function send(word: Buffer): void {
            events.stderr(`${word.toString()} begin 1`);
            exited.resolve(exit);
          }
          return {
            about: {},
            channel: { listen() {}, send, closed: new Promise<never>(() => {}), close() {} },
            exited: exited.promise,
            stop: async () => await exited.promise,
            usage: async () => undefined,
          };
        },
      },
    )({ repository, worktree, commands: ['true'], timeoutMs: 60_000 }, signal);
  expect(await failureOf(runWith({ detail: 'it was removed by someone else' }))).toBe(
    'HUB_ENGINE_UNREACHABLE: the acceptance commands did not end: it was removed by someone else',
  );
  const killed = await runWith({ code: 137, detail: 'exited with code 137' });
  expect(killed).toMatchObject({
    passed: false,
    commands: [{ output: '(it did not end: exited with code 137)' }],
  });
});
