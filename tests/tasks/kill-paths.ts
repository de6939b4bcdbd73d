import { git, writeFiles } from '../repositories/git.ts';
import type { TaskView } from '../../hub/tasks/task-types.ts';
import { fileBlock, goodAnswer, goodReview } from './pipeline.ts';

/** Command that a user or a program gives next. A path ends when there is none. */
export type PathCommand = 'setup' | 'run' | 'pass' | 'fail' | 'finalize' | 'cancel' | 'rollback';

/** Answer of a model: a text, `down` if Ollama disappears once, or `cancel` if the task is cancelled meanwhile. */
type PathAnswer = { readonly text: string } | 'down' | 'cancel';

/** Path of a task through the pipeline, during which the hub is killed at every record of its journal. */
export type KillPath = {
  readonly contract?: object;
  /** Answers by the number of calls that the task has counted. */
  readonly answers: readonly PathAnswer[];
  /** Outcomes of the acceptance commands by attempt; undefined if an attempt does not get that far. */
  readonly gate?: readonly (boolean | undefined)[];
  /**
   * Returns the next command of the task in the repository at `path`. Called again after a kill, so its effects may
   * occur twice.
   */
  readonly command: (task: TaskView, path: string) => PathCommand | undefined;
  /** Events of the journal that the path shares with an earlier path, up to equal states. */
  readonly begins: string;
  /** Events of the journal after those of `begins`. */
  readonly records: string;
  readonly remains: {
    readonly status: TaskView['status'];
    readonly handoff: string;
    /** Subjects of the commits on the branch that are not on `main`, newest first. */
    readonly branch: string;
    readonly main?: string;
    readonly worktrees: 1 | 2;
  };
};

const beginning = 'created setup prepared written begin';
const implemented = `${beginning} answered checked committed written begin`;
const reviewed = `${implemented} answered reviewed committed written`;

const say = (...texts: readonly string[]): readonly PathAnswer[] => texts.map(text => ({ text }));
const again = fileBlock('src/sum.mjs', 'export const sum = (a, b) => a + b; // named\n');
const secret = fileBlock('src/sum.mjs', 'export const key = "sk-proj-abcdefghij0123456789";\n');
const outside = fileBlock('src/other.mjs', 'export const other = 1;\n');
const critical = JSON.stringify({
  passed: false,
  critical: true,
  issues: [
    {
      path: 'src/sum.mjs',
      line: 1,
      severity: 'critical',
      rule: 'Injection',
      quote: 'export const sum',
      why: 'because',
    },
  ],
});

/** Ends the path where a judge or a person is needed. */
const untilNeeded: KillPath['command'] = ({ status }) =>
  status === 'proposal'
    ? 'setup'
    : status === 'pending_implementer' || status === 'pending_local_review'
      ? 'run'
      : undefined;

const judge = {
  status: 'pending_judge_review',
  handoff: 'REVIEW_REQUEST.md TASK_CONTRACT.json',
  branch: 'Review add-sum, Implement add-sum',
  worktrees: 2,
} as const;
const person = {
  status: 'human_consultation',
  handoff: 'STALL_REPORT.md TASK_CONTRACT.json',
  branch: '',
  worktrees: 2,
} as const;
const merged = {
  status: 'done',
  handoff: 'REVIEW_REQUEST.md TASK_CONTRACT.json',
  branch: '',
  main: 'Review add-sum, Implement add-sum, first',
  worktrees: 1,
} as const;

export const killPaths = {
  'from its proposal to merged': {
    answers: say(goodAnswer, goodReview),
    command: task =>
      task.status === 'pending_judge_review'
        ? task.verdict === 'pass'
          ? 'finalize'
          : 'pass'
        : untilNeeded(task, ''),
    begins: '',
    records: `${reviewed} judge written finalize merged cleaned written`,
    remains: merged,
  },
  'an empty and a malformed answer of the implementer, which is mended': {
    contract: { acceptance: { commands: ['node --test'] } },
    answers: say(' ', 'no blocks', goodAnswer, goodReview),
    gate: [undefined, true],
    command: untilNeeded,
    begins: beginning,
    records:
      'stalled answered malformed answered checked committed written begin answered reviewed committed written',
    remains: judge,
  },
  'two strikes of the implementer, and a new beginning': {
    answers: say(' ', outside),
    command: task =>
      task.status === 'human_consultation'
        ? 'setup'
        : task.history.some(({ status }) => status === 'human_consultation')
          ? undefined
          : untilNeeded(task, ''),
    begins: beginning,
    records: 'stalled answered stalled written setup prepared written',
    remains: { ...person, status: 'pending_implementer', handoff: 'TASK_CONTRACT.json' },
  },
  'a gate that fails, and a secret in the second attempt': {
    contract: { acceptance: { commands: ['node --test'] } },
    answers: say(goodAnswer, secret),
    gate: [false],
    command: untilNeeded,
    begins: beginning,
    records: 'answered stalled answered stalled written',
    remains: person,
  },
  'a malformed review, which is mended after a strike': {
    answers: say(goodAnswer, 'a', 'b', goodReview),
    command: untilNeeded,
    begins: implemented,
    records: 'answered malformed answered malformed answered reviewed committed written',
    remains: judge,
  },
  'two strikes of the reviewer': {
    answers: say(goodAnswer, 'a', 'b', ' '),
    command: untilNeeded,
    begins: implemented,
    records: 'answered malformed answered malformed stalled written',
    remains: { ...person, branch: 'Implement add-sum' },
  },
  'a critical finding': {
    answers: say(goodAnswer, critical),
    command: untilNeeded,
    begins: implemented,
    records: 'answered reviewed committed written',
    remains: {
      ...person,
      handoff: 'HALT.md TASK_CONTRACT.json',
      branch: 'Review add-sum, Implement add-sum',
    },
  },
  'a judge who says fail twice': {
    answers: say(goodAnswer, goodReview, again, goodReview),
    command: task => (task.status === 'pending_judge_review' ? 'fail' : untilNeeded(task, '')),
    begins: reviewed,
    records:
      'judge written begin answered checked committed written begin answered reviewed committed written judge written',
    remains: {
      ...person,
      handoff: 'REVIEW_REQUEST.md STALL_REPORT.md TASK_CONTRACT.json',
      branch: 'Review add-sum, Implement add-sum, Review add-sum, Implement add-sum',
    },
  },
  'a conflict at the merge, which a person solves': {
    answers: say(goodAnswer, goodReview),
    command(task, path) {
      const isOther = () => git(path, 'log', '-1', '--format=%s', 'main') === 'other';
      if (task.status === 'pending_judge_review') {
        if (task.verdict !== 'pass') return 'pass';
        if (!isOther()) {
          writeFiles(path, { 'src/sum.mjs': 'other\n' });
          git(path, 'add', '--all');
          git(path, 'commit', '--quiet', '--message=other');
        }
        return 'finalize';
      }
      if (task.status !== 'human_consultation') return untilNeeded(task, path);
      if (isOther()) git(path, 'reset', '--quiet', '--hard', 'HEAD~1');
      return 'finalize';
    },
    begins: `${reviewed} judge written`,
    records: 'finalize not_merged written finalize merged cleaned written',
    remains: merged,
  },
  'cancelled while a model works': {
    answers: ['cancel'],
    command: untilNeeded,
    begins: beginning,
    records: 'cancel cleaned written',
    remains: { ...person, status: 'cancelled', handoff: 'TASK_CONTRACT.json', worktrees: 1 },
  },
  'rolled back to a checkpoint, and to the base, and cancelled': {
    answers: say(goodAnswer, goodReview),
    command(task) {
      const { status, checkpoints, totals } = task;
      if (totals.calls < 2) return untilNeeded(task, '');
      if (checkpoints.length > 0) return 'rollback';
      return status === 'cancelled' ? undefined : 'cancel';
    },
    begins: reviewed,
    records: 'rollback rolled_back written rollback rolled_back written cancel cleaned written',
    remains: { ...person, status: 'cancelled', handoff: 'TASK_CONTRACT.json', worktrees: 1 },
  },
  'a spent budget': {
    contract: { budget: { tokens: 100 } },
    answers: say(goodAnswer),
    command: untilNeeded,
    begins: implemented,
    records: 'budget_spent written',
    remains: { ...person, branch: 'Implement add-sum' },
  },
  'an Ollama that goes in the middle of an answer': {
    answers: ['down'],
    command: task => (task.halted ? undefined : untilNeeded(task, '')),
    begins: beginning,
    records: 'halted written',
    remains: { ...person, status: 'pending_implementer', handoff: 'TASK_CONTRACT.json' },
  },
} satisfies Readonly<Record<string, KillPath>>;
