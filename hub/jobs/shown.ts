import { type Log, HubError, isObject } from '#core';
import type { JobError, JobLine } from './job.ts';

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
/** Maximum length of a result as JSON, in characters. A longer result is omitted. */
const maxResultLength = 8_000;

/** Creates the functions that remove secrets from the texts of jobs and limit their length. */
export function createShown({ log, redaction }: ShownNeeds) {
  const cut = (text: string, length: number) => redaction.text(text).slice(0, length);
  return {
    title: (text: string) => cut(text, maxTitleLength),
    line: ({ step, text }: JobLine): JobLine => ({ step, text: cut(text, maxLineLength) }),
    result(result: object): Readonly<Record<string, unknown>> {
      if (JSON.stringify(result).length > maxResultLength) return {};
      const shown = redaction.json(result);
      return isObject(shown) ? shown : {};
    },
    /** Converts an error. One that is not a HubError is a bug: it is logged in full, and the job refers to the log. */
    error(id: string, error: unknown): JobError {
      if (error instanceof HubError)
        return { code: error.code, message: cut(error.message, maxMessageLength) };
      const trace = error instanceof Error ? error.stack : String(error);
      log.error({ job: id, error: trace }, 'a job failed: internal error');
      return { code: 'HUB_INTERNAL', message: `the hub failed; its log says why under ${id}` };
    },
  };
}
