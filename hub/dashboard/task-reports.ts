import { setBounded } from '#core';
import { type TaskPipeline, type TaskReportName, type TaskView, taskReports } from '#tasks';

/** Diff and reports of a task. Reading them takes a container. */
export type TaskFiles = {
  readonly diff: { readonly text: string; readonly isTruncated: boolean };
  readonly reports: readonly { readonly name: TaskReportName; readonly text: string }[];
};

type Stored = { readonly key: string; readonly files: Promise<TaskFiles> };

/** Maximum number of tasks whose files are cached. */
const maxTasks = 20;
const judgeReport: TaskReportName = 'JUDGE_REPORT.md';

/**
 * Caches the diff and the reports of a task until the task changes. Always reads the report of the judge again, which a
 * person writes.
 */
export function createTaskFiles(pipeline: Pick<TaskPipeline, 'diff' | 'report'>) {
  const stored = new Map<string, Stored>();

  async function read(id: string, signal: AbortSignal): Promise<TaskFiles> {
    const [diff, ...texts] = await Promise.all([
      pipeline.diff(id, signal),
      ...taskReports.map(name => pipeline.report(id, name, signal)),
    ]);
    const reports = taskReports.flatMap((name, at) => {
      const text = texts[at];
      return text === undefined ? [] : { name, text };
    });
    return { diff, reports };
  }

  async function withJudgement(id: string, files: TaskFiles, signal: AbortSignal) {
    const text = await pipeline.report(id, judgeReport, signal);
    const reports = files.reports.filter(({ name }) => name !== judgeReport);
    return {
      ...files,
      reports: text === undefined ? reports : [...reports, { name: judgeReport, text }],
    };
  }

  return async (
    { id, updatedAt, repository, status }: TaskView,
    signal: AbortSignal,
  ): Promise<TaskFiles> => {
    const key = `${repository} ${updatedAt}`;
    const known = stored.get(id);
    if (known?.key === key) {
      const files = await known.files;
      return status === 'pending_judge_review' ? await withJudgement(id, files, signal) : files;
    }
    const files = read(id, signal);
    setBounded(stored, id, { key, files }, maxTasks);
    try {
      return await files;
    } catch (error) {
      stored.delete(id);
      throw error;
    }
  };
}
