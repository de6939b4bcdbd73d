import { type Log, HubError, isObject } from '#core';
import type { JobError, JobLine } from './job.ts';

/** Removes secrets from the texts of jobs and limits their length. */
export interface Shown {
  title(text: string): string;
  line(line: JobLine): JobLine;
  result(result: object): Readonly<Record<string, unknown>>;
  /** An error that is not a HubError is a bug: it is logged in full, and the job refers to the log. */
  error(id: string, error: unknown): JobError;
}

export type ShownNeeds = {
  readonly log: Log;
  readonly redaction: {
    readonly text: (text: string) => string;
    readonly json: (value: unknown) => unknown;
  };
};

const maxTitleLength = 200;
const maxLineLength = 500;
const maxMessageLength = 4_000;
/** In characters of JSON. A longer result is omitted. */
const maxResultLength = 8_000;

export function createShown({ log, redaction }: ShownNeeds): Shown {
  const cut = (text: string, length: number) => redaction.text(text).slice(0, length);
  return {
    title: text => cut(text, maxTitleLength),
    line: ({ step, text }) => ({ step, text: cut(text, maxLineLength) }),
    result(result) {
      if (JSON.stringify(result).length > maxResultLength) return {};
      const shown = redaction.json(result);
      return isObject(shown) ? shown : {};
    },
    error(id, error) {
      if (error instanceof HubError)
        return { code: error.code, message: cut(error.message, maxMessageLength) };
      log.error(
        { job: id, error: error instanceof Error ? error.stack : String(error) },
        'a job failed: internal error',
      );
      return { code: 'HUB_INTERNAL', message: `the hub failed; its log says why under ${id}` };
    },
  };
}
