import { basename } from 'node:path';
import { type Clock, HubError, createAbortScope, unlessAborted } from '#core';
import type { Instance, LaunchSpec } from '#runtimes';
import { type CommandOutputs, createCommandOutputs } from './command-outputs.ts';
import type { LaunchDriver } from './drivers.ts';
import { type RepositoryPlace, ownerOf, userOf } from './launch.ts';
import type { AcceptanceReport, AcceptanceRun } from './repository-types.ts';

const mib = 2 ** 20;
const maxRuns = 8;
/** Limits of one acceptance run. */
export const acceptanceLimits = {
  commands: 50,
  /** Maximum number of characters of a command. */
  commandLength: 10_000,
  timeoutMs: 6 * 60 * 60_000,
  /** Pattern of image names. */
  image: /^[a-zA-Z0-9][a-zA-Z0-9_.:@/-]{0,255}$/,
} as const;
/** Folder in the container for the copy of the worktree and the temporary files of commands. */
const workFolder = '/acceptance';
/** User and group that no repository belongs to. */
const unprivileged = '65532:65532';

/**
 * Shell script that reads a word from stdin, copies the worktree, and runs each command in the copy. Lines that begin
 * with the word are for the hub; commands do not know the word. All output goes to stderr, so that it stays in order.
 * If a link had replaced the worktree before the engine mounted it, its `.git` file would differ from the expected one.
 */
const script = `
IFS= read -r word || exit 97
source=$1 link=$2; shift 2
exec 1>&2
IFS= read -r found <"$source/.git" && [ "$found" = "$link" ] || { echo "$source is not the worktree of the task"; exit 98; }
mkdir ${workFolder}/work ${workFolder}/tmp && cp -RP "$source/." ${workFolder}/work && rm -rf ${workFolder}/work/.git && cd ${workFolder}/work || exit 98
number=0
for command do
  number=$((number + 1))
  printf '%s begin %d\\n' "$word" "$number"
  sh -c "$command" </dev/null
  printf '\\n%s end %d %d\\n' "$word" "$number" "$?"
done
printf '%s done\\n' "$word"
`;

type Needs = {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly redact: (text: string) => string;
  readonly launch: LaunchDriver;
  readonly identify: (spec: LaunchSpec) => Promise<string | undefined>;
};

/** Creates a function that runs acceptance commands of tasks, each run in its own container without a network. */
export function createAcceptance(place: RepositoryPlace, needs: Needs) {
  const { clock, newId, redact, launch, identify } = needs;
  let runs = 0;

  async function runIn(run: AcceptanceRun, signal: AbortSignal): Promise<AcceptanceReport> {
    const word = newId();
    const outputs = createCommandOutputs(word, run.commands, { clock, redact });
    using scope = createAbortScope([signal], { clock, limitMs: run.timeoutMs });
    const spec = await specOf(run, newId());
    const { image } = run;
    // A missing image is not pulled, unless it is the hub's own: pulling may take longer than the commands.
    if (image !== undefined && (await identify(spec)) === undefined)
      throw new HubError(
        'HUB_IMAGE_MISSING',
        `acceptance.image: the image ${image} is not on this engine. Bring it there: docker pull ${image}`,
      );
    const instance = await launch(
      spec,
      { stderr: line => outputs.push(line), progress() {} },
      signal,
    );
    try {
      instance.channel.send(Buffer.from(word));
      const over = Promise.race([instance.exited, outputs.flooded]);
      const ended = await unlessAborted(over, scope.signal).catch(() => undefined); // The causes are distinguished below.
      const isLate = scope.signal.aborted;
      const exit = await instance.stop({ graceMs: 0 });
      if (signal.aborted) throw cancelled(signal);
      // The run was not ended by a command: the engine was lost, or somebody removed the container.
      if (ended && ended.code === undefined && !outputs.isDone)
        throw new HubError(
          'HUB_ENGINE_UNREACHABLE',
          `the acceptance commands did not end: ${ended.detail}`,
          { data: { retryable: true } },
        );
      return reportOf(run, outputs, { isLate, detail: exit.detail });
    } finally {
      await stopQuietly(instance);
    }
  }

  async function specOf({ repository, worktree, commands, image }: AcceptanceRun, id: string) {
    const owner = await ownerOf(repository.root);
    const spec: LaunchSpec = {
      server: `.gate-${id.replaceAll('-', '').slice(0, 12).toLowerCase()}`,
      env: { CI: 'true', TMPDIR: `${workFolder}/tmp` },
      maxLineBytes: mib,
      maxWaitingBytes: mib,
      timeoutMs: 60_000,
      target: {
        kind: 'docker',
        image: image === undefined ? { context: 'git' } : { reference: image },
        command: 'sh',
        args: ['-c', script, 'sh', worktree.path, linkOf(repository, worktree), ...commands],
        user: owner.uid === 0 ? unprivileged : userOf(owner),
        network: 'none',
        // Only the worktree: the rest of the repository may contain keys, in .git/config and in files that git ignores.
        mounts: [{ source: worktree.path, target: worktree.path, readOnly: true }],
        volumes: [],
        limits: {
          memoryBytes: 3_072 * mib,
          cpus: 2,
          pids: 512,
          scratchBytes: 256 * mib,
          volumeBytes: 0,
        },
        programs: { path: workFolder, bytes: 1_024 * mib },
        logs: 'none',
      },
    };
    return spec;
  }

  return async (run: AcceptanceRun, signal: AbortSignal): Promise<AcceptanceReport> => {
    requireBounded(run);
    if (place.runsIn !== 'docker')
      throw new HubError(
        'HUB_ENGINE_UNREACHABLE',
        'acceptance commands need Docker, which the hub did not find at its start: without a container they would run as your user. Start Docker, and then the hub again',
      );
    if (runs >= maxRuns)
      throw new HubError(
        'HUB_REPOSITORIES_FULL',
        `${maxRuns} acceptance runs are under way already. Try again when one is done`,
        { data: { retryable: true } },
      );
    runs++;
    try {
      return await runIn(run, signal);
    } finally {
      runs--;
    }
  };
}

/** Returns the content of the `.git` file of a worktree. */
const linkOf = ({ root }: AcceptanceRun['repository'], { path }: AcceptanceRun['worktree']) =>
  `gitdir: ${root}/.git/worktrees/${basename(path)}`;

const stopQuietly = (instance: Instance) => instance.stop({ graceMs: 0 }).catch(() => undefined); // The runtime removes it later.

const cancelled = ({ reason }: AbortSignal) =>
  reason instanceof HubError
    ? reason
    : new HubError('HUB_CALL_CANCELLED', 'the acceptance run was cancelled', { cause: reason });

function reportOf(
  { image, commands }: AcceptanceRun,
  outputs: CommandOutputs,
  { isLate, detail }: { readonly isLate: boolean; readonly detail: string },
): AcceptanceReport {
  const isComplete = outputs.isDone;
  if (!isComplete && !outputs.hasBegun && !isLate)
    throw new HubError(
      'HUB_GIT_FAILED',
      `the acceptance container could not copy the worktree (${detail}): ${outputs.beforeFirst}`,
    );
  const results = outputs.results(isComplete || isLate ? undefined : detail, isLate);
  return {
    passed: results.length === commands.length && results.every(({ exitCode }) => exitCode === 0),
    commands: results,
    image: image ?? 'agenthub/git',
  };
}

function requireBounded({ commands, image, timeoutMs }: AcceptanceRun): void {
  const refuse = (field: string, why: string) =>
    new HubError('HUB_REQUEST_INVALID', `acceptance.${field} ${why}`);
  const { commands: maxCommands, commandLength, timeoutMs: maxTimeoutMs } = acceptanceLimits;
  if (commands.length > maxCommands)
    throw refuse('commands', `has ${commands.length} commands: name at most ${maxCommands}`);
  const bad = commands.findIndex(
    each => each.trim() === '' || each.includes('\0') || each.length > commandLength,
  );
  if (bad >= 0)
    throw refuse(`commands[${bad}]`, `must be a command of 1 to ${commandLength} characters`);
  if (!(timeoutMs > 0 && timeoutMs <= maxTimeoutMs))
    throw refuse('timeout', `must be more than 0 and at most ${maxTimeoutMs / 60_000} minutes`);
  if (image !== undefined && !acceptanceLimits.image.test(image))
    throw refuse('image', `${JSON.stringify(image.slice(0, 300))} is not the name of an image`);
}
