import { type Log, HubError, isObject } from '#core';
import type { JobError, JobLine } from './job.ts';

/** Makes what a job is told fit to be kept and shown: without secrets, and bounded. */
export interface Shown {
  title(text: string): string;
  line(line: JobLine): JobLine;
  result(result: object): Readonly<Record<string, unknown>>;
  /** An error that is not one of the hub is a bug: its details go to the log, and the job names the way to them. */
  error(id: string, error: unknown): JobError;
}

export type ShownNeeds = {
  readonly log: Log;
  /** Removes secrets. */
  readonly redaction: {
    readonly text: (text: string) => string;
    readonly json: (value: unknown) => unknown;
  };
};

const maxTitleLength = 200;
const maxLineLength = 500;
const maxMessageLength = 4_000;
/** A larger result is left out, in characters of JSON. */
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
        'a job failed because of an error of the hub',
      );
      return { code: 'HUB_INTERNAL', message: `the hub failed; its log says why under ${id}` };
    },
  };
}
