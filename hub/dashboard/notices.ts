import type { DashboardRequest } from './dashboard-types.ts';
import type { Html } from './html.ts';
import { type Failure, notice } from './pieces.ts';

export type Done = keyof typeof said;

const said = {
  start: 'is being started.',
  stop: 'is being stopped. Calls do not start it again.',
  restart: 'is being restarted.',
  remove: 'was removed.',
  'clear-cache': 'cleared from the caches.',
  'cancel-install': 'is being cancelled.',
} as const;

const isDone = (text: string): text is Done => Object.hasOwn(said, text);
/** The notices that the address of a page may name, so that a link cannot choose the text. */
const aboutPattern = /^[\w-]{1,32}$|^\d+ results?$|^The job$/;

/** The notice after an action on `about`. */
export const sentence = (done: Done, about: string): Html =>
  notice('good', `${about} ${said[done]}`);

/** The notice for the page after a form. */
export function noticeOf({ query }: DashboardRequest): Html | undefined {
  const done = query('done');
  const about = query('about');
  return isDone(done) && aboutPattern.test(about) ? sentence(done, about) : undefined;
}

/** The error if installs are not available. */
export const fileOnly: Failure = {
  title: 'Not here',
  message:
    'This hub does not change its config file. Change it there: the hub reads it again by itself.',
};

/** The error if there are no caches. */
export const noPrompts: Failure = {
  title: 'No caches',
  message: 'This hub improves no prompts. Set OLLAMA_HOST and start it again.',
};
