import {
  type Event,
  type Log,
  HubError,
  createAbortScope,
  createEmitter,
  messageOf,
  neverAborted,
} from '#core';
import type { OpenJob } from '#jobs';
import type { Principal } from '#policy';
import type { Repositories, Repository } from '#repositories';
import { describeEvent } from './describe-event.ts';
import { writeHandoff } from './handoff.ts';
import { type LeaseNeeds, type RepositoryLease, dropOldLease, takeLease } from './lease.ts';
import { effectsOf, isCommand, next } from './next.ts';
import { type PerformNeeds, performStep } from './perform.ts';
import { attemptOf, modelOf, phaseIn } from './phases.ts';
import type { TaskSlots } from './slots.ts';
import type { TaskCommand, TaskResult, TaskTransition } from './task-events.ts';
import type { TaskState } from './task-state.ts';
import { type StoredTask, writtenEvent } from './task-store.ts';

export type RunnerNeeds = {
  readonly repositories: Repositories;
  readonly slots: TaskSlots;
  readonly lease: LeaseNeeds;
  readonly perform: PerformNeeds;
  readonly log: Log;
};

/** A task, and the runner that performs its steps. */
export interface TaskRunner {
  readonly state: TaskState;
  readonly changed: Event<TaskTransition>;
  /**
   * Applies a command. Rejects with HUB_TASK_STATE or HUB_TASK_BUSY. Resolves when the new state is stored; the steps
   * run afterwards. `job`: job of a command that starts a phase.
   */
  dispatch(command: TaskCommand, job?: OpenJob): Promise<void>;
  /** Resolves when no step is running. Rejects with the fault that ended the last one. */
  settled(): Promise<void>;
  /** Stops the phase of a job and keeps the status of the task. The phase may not have started yet. */
  interrupt(job: string, reason: HubError): void;
  /** Continues a step that a crash interrupted, and writes missing files in the repository. */
  recover(job: OpenJob | undefined): void;
  /** Stops without changing the state: the next run of the hub continues the step. */
  stop(): Promise<void>;
  remove(): Promise<void>;
}

/** Principal that opens repositories for steps. Whether the user may use a repository was checked by the command. */
export const pipeline: Principal = { kind: 'job', name: 'tasks', grants: { administer: true } };

export function createTaskRunner(stored: StoredTask, needs: RunnerNeeds): TaskRunner {
  const { repositories, slots, log } = needs;
  const { event: changed, fire } = createEmitter<TaskTransition>();
  const id = stored.state.contract.task_id;
  const fields = { task: id };
  const stopping = new AbortController();
  /** Cancels the current step. */
  let current: AbortController | undefined;
  let work: Promise<void> | undefined;
  /** True if a command arrived during a step. */
  let isAsked = false;
  let job: OpenJob | undefined;
  let interrupted: { readonly job: string; readonly reason: HubError } | undefined;
  let fault: HubError | undefined;
  /** Status and attempt numbers of the last state that was written to the repository. */
  let written: string | undefined;

  async function apply(event: TaskCommand | TaskResult): Promise<void> {
    const transition = { ...event, at: needs.lease.clock.now() };
    const { state: before, isWritten } = stored;
    const { task } = next(before, transition);
    if (task === before) return;
    stored.state = task;
    stored.isWritten = false;
    log.info({ ...fields, status: task.status, step: task.step.kind }, describeEvent(transition));
    const isStored = await stored.save(event.type);
    if (!isStored && isCommand(transition) && stored.state === task) {
      // No work follows a command that is not stored: its step would never end.
      stored.state = before;
      stored.isWritten = isWritten;
    } else fire(transition);
    if (!isStored)
      throw new HubError(
        'HUB_TASK_STORE_FAILED',
        `the state of task ${id} could not be stored: see the log of the hub`,
      );
  }

  /** Performs the step of the state, and the steps that follow from it. Resolves with the idle state that they end in. */
  async function perform(signal: AbortSignal): Promise<TaskState> {
    const { principal: owner, step, isUnattended } = stored.state;
    using held = new DisposableStack();
    let hasSlot = false;
    const takeSlot = async () => {
      if (!hasSlot) held.use(await slots.take(owner, signal));
      hasSlot = true;
    };
    // An unattended task asks a model right after its branch is prepared, with the same slot.
    if (phaseIn(step) || isUnattended) await takeSlot();
    await using repository = await repositories.open(stored.state.repository, pipeline, signal);
    let lease: RepositoryLease | undefined;
    try {
      for (;;) {
        if (stored.state.step.kind !== 'idle') {
          await project(repository);
          signal.throwIfAborted();
          // A command may have begun a phase while the files of an idle task were written.
          if (phaseIn(stored.state.step)) await takeSlot();
          lease ??= await takeLease(repository.state, id, needs.lease, signal);
          await performOnce(repository, lease, signal);
          continue;
        }
        // A command that begins the next phase may change the state from here on.
        const idle = stored.state;
        if (lease) await lease[Symbol.asyncDispose]();
        else await dropOldLease(repository.state, needs.lease, signal);
        lease = undefined;
        await project(repository);
        signal.throwIfAborted();
        const isNext = effectsOf(stored.state).some(({ type }) => type === 'begin_next');
        if (!isNext || stored.state.job === undefined) return idle;
        await apply({ type: 'begin', kind: 'run', job: stored.state.job });
      }
    } finally {
      await lease?.[Symbol.asyncDispose]();
    }
  }

  async function performOnce(
    repository: Repository,
    { lost }: RepositoryLease,
    signal: AbortSignal,
  ): Promise<void> {
    const { state } = stored;
    using scope = createAbortScope([signal, lost]);
    const step = phaseIn(state.step) ?? state.status;
    const report = (text: string) => job?.report({ step, text });
    report(doingOf(state));
    const place = { repositories, repository };
    const result = await performStep(state, place, report, needs.perform, scope.signal);
    // The base branch has the change already, so the task is done.
    if (result.type === 'merged' && stored.state.status === 'cancelled') await apply(result);
    // Discards the result of a cancelled step, or of a step that another hub performs.
    scope.signal.throwIfAborted();
    await apply(result);
  }

  /** Writes the files of the state to `_handoff/`. A failed write is repeated at the next transition or start. */
  async function project(repository: Repository): Promise<void> {
    if (stored.isWritten) return;
    const { state } = stored;
    // Within an attempt only counters change. They are written at its end.
    const attempt = `${state.status} ${state.attempt} ${state.reviewAttempt}`;
    if (state.step.kind !== 'idle' && attempt === written) return;
    try {
      await writeHandoff(state, repository, needs.perform.redact, stopping.signal);
      written = attempt;
      if (state.step.kind !== 'idle' || stored.state !== state) return;
      stored.isWritten = true;
      await stored.save(writtenEvent);
    } catch (error) {
      stopping.signal.throwIfAborted();
      log.warn(
        { ...fields, error: messageOf(error) },
        'the files in _handoff could not be written',
      );
    }
  }

  async function halt(error: unknown): Promise<void> {
    const known =
      error instanceof HubError
        ? error
        : new HubError('HUB_INTERNAL', `task ${id} failed by a bug: see the log`, { cause: error });
    if (known.code === 'HUB_INTERNAL')
      log.error(
        { ...fields, error: error instanceof Error ? error.stack : String(error) },
        'a step failed',
      );
    fault = known;
    const code = known.code.replace(/^HUB_/, '').toLowerCase();
    const halted = code === 'call_cancelled' ? 'cancelled' : code;
    await apply({ type: 'halted', code: halted, message: known.message }).catch(
      (problem: unknown) =>
        log.error(
          { ...fields, error: messageOf(problem) },
          'the halt of the task could not be stored',
        ),
    );
  }

  async function run(): Promise<void> {
    let end: TaskState | undefined;
    do {
      isAsked = false;
      end = undefined;
      fault = undefined;
      current = new AbortController();
      using scope = createAbortScope([current.signal, stopping.signal]);
      // Not for a cancelled task, which still has to remove its worktree.
      if (interrupted && interrupted.job === job?.id && stored.state.status !== 'cancelled')
        current.abort(interrupted.reason);
      try {
        end = await perform(scope.signal);
      } catch (error) {
        if (stopping.signal.aborted) break;
        // A command has cancelled the step: continue with its own, such as to remove the worktree.
        if (isAsked) continue;
        await halt(error);
        await projectAfterHalt();
      }
    } while (isAsked);
    current = undefined;
    endJob(end);
  }

  async function projectAfterHalt(): Promise<void> {
    try {
      await using repository = await repositories.open(
        stored.state.repository,
        pipeline,
        neverAborted,
      );
      await project(repository);
    } catch (error) {
      log.debug({ ...fields, error: messageOf(error) }, 'the repository cannot be opened');
    }
  }

  /** Ends the job of the phase. The defaults: status, attempt and step of the current state. */
  function endJob({ status, attempt, step } = stored.state): void {
    const open = job;
    job = undefined;
    if (stopping.signal.aborted) open?.failed(stopping.signal.reason);
    else if (fault) open?.failed(fault);
    else if (status === 'cancelled')
      open?.failed(new HubError('HUB_CALL_CANCELLED', `task ${id} was cancelled`));
    else open?.done({ task_id: id, status, attempt, step: step.kind });
  }

  function begin(): void {
    if (work || stopping.signal.aborted) return;
    const running = run().finally(() => {
      work = undefined;
      if (isAsked) begin();
    });
    work = running;
  }

  return {
    get state() {
      return stored.state;
    },
    changed,
    async dispatch(command, open) {
      const before = stored.state;
      await apply(command);
      // An idle task may still write its files, with the job of the previous phase.
      if (open) endJob(before);
      if (open) job = open;
      isAsked = true;
      if (command.type === 'cancel')
        current?.abort(new HubError('HUB_CALL_CANCELLED', `task ${id} was cancelled`));
      begin();
    },
    async settled() {
      await work;
      if (fault) throw fault;
    },
    interrupt(ofJob, reason) {
      interrupted = { job: ofJob, reason };
      if (job?.id === ofJob) current?.abort(reason);
    },
    recover(open) {
      job = open;
      const { step, isUnattended } = stored.state;
      if (step.kind !== 'idle' || isUnattended || !stored.isWritten) begin();
      else endJob();
    },
    async stop() {
      stopping.abort(new HubError('HUB_SHUTTING_DOWN', 'the hub is stopping'));
      await work?.catch(() => undefined); // The error was logged.
      await stored.close();
    },
    remove: () => stored.remove(),
  };
}

function doingOf(task: TaskState): string {
  const { step } = task;
  if (step.kind !== 'asking') return step.kind.replaceAll('_', ' ');
  return `asks ${modelOf(task, step.phase)}, attempt ${attemptOf(task, step.phase)}`;
}
