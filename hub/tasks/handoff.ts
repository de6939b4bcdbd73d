import { HubError } from '#core';
import type { Repository } from '#repositories';
import { type TaskContract, contractPath, parseContractText } from './contract.ts';
import { contractText } from './contract-now.ts';
import { readJudgeReport } from './judge-report.ts';
import { redactedState } from './redacted-state.ts';
import { reportsOf } from './reports.ts';
import type { TaskState } from './task-state.ts';
import type { TaskJudgement, TaskReportName } from './task-types.ts';

const contractFile = 'TASK_CONTRACT.json';
const judgeFile = 'JUDGE_REPORT.md';
const maxContractBytes = 2 ** 20;
const maxReportBytes = 4 * 2 ** 20;
/** Maximum size of a diff in a report, in bytes. */
const maxDiffBytes = 512 * 1024;

/** Reads the contract of a repository. Rejects with HUB_TASK_UNKNOWN or HUB_CONTRACT_INVALID. */
export async function readContract(
  { handoff, root }: Repository,
  signal: AbortSignal,
): Promise<TaskContract> {
  const bytes = await handoff.read(contractFile, maxContractBytes, signal);
  if (bytes) return parseContractText(bytes.toString(), `${root}/${contractPath}`);
  throw new HubError(
    'HUB_TASK_UNKNOWN',
    `${root} has no ${contractPath}: write one with "agenthub task new"`,
  );
}

export async function hasContract({ handoff }: Repository, signal: AbortSignal): Promise<boolean> {
  return (await handoff.read(contractFile, maxContractBytes, signal)) !== undefined;
}

/** Reads the judge's verdict from JUDGE_REPORT.md. Rejects with HUB_REQUEST_INVALID if it has none. */
export async function readJudgement(
  { handoff, root }: Repository,
  signal: AbortSignal,
): Promise<TaskJudgement> {
  const bytes = await handoff.read(judgeFile, maxReportBytes, signal);
  if (bytes) return readJudgeReport(bytes.toString());
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `verdict: is missing: write "pass" or "fail", or put a line "Verdict: PASS" into ${root}/_handoff/${judgeFile}`,
  );
}

export async function readReport(
  { handoff }: Repository,
  name: TaskReportName,
  signal: AbortSignal,
): Promise<string | undefined> {
  return (await handoff.read(name, maxReportBytes, signal))?.toString();
}

/**
 * Writes the contract and the reports of a state to `_handoff/`, and removes outdated reports. `redact` removes secrets
 * from texts of models and commands.
 */
export async function writeHandoff(
  state: TaskState,
  repository: Repository,
  redact: (text: string) => string,
  signal: AbortSignal,
): Promise<void> {
  const task = redactedState(state, redact);
  const diff = await diffOf(task, repository, signal);
  const texts = Object.entries(reportsOf(task, diff && redact(diff)));
  const written = texts.flatMap(([path, text]) =>
    typeof text === 'string' ? [{ path, content: text }] : [],
  );
  const removed = texts.flatMap(([path, text]) => (text === null ? [path] : []));
  if (removed.length > 0) await repository.handoff.remove(removed, signal);
  // The contract is written last: a reader who sees its new status also finds the report.
  await repository.handoff.write(
    [...written, { path: contractFile, content: contractText(task) }],
    signal,
  );
}

/** Returns the diff of the task if a report of the current status shows it. */
async function diffOf(
  { status, base, checkpoints }: TaskState,
  repository: Repository,
  signal: AbortSignal,
): Promise<string | undefined> {
  const head = checkpoints.at(-1)?.commit;
  const isShown = status === 'pending_judge_review' || status === 'human_consultation';
  if (!isShown || base === undefined || head === undefined) return undefined;
  const { text, isTruncated } = await repository.diff(
    { from: base, to: head, maxBytes: maxDiffBytes },
    signal,
  );
  return isTruncated ? `${text}\n(cut off: it has more than ${maxDiffBytes} bytes)` : text;
}
