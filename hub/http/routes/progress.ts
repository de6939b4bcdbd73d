import type { FastifyReply } from 'fastify';
import type { InstallProgress } from '#installs';
import { type HttpSystem, reportOf } from '../errors.ts';
import { type EventAnswer, openEvents, wantsEvents } from './events.ts';

/**
 * Answers with the result of long work. `mark` sets the status and headers of the answer. If the client accepts events,
 * streams the lines of the work and then its result or error. Rejects if the first step of the work fails, so that the
 * answer gets the status of the error.
 */
export async function answerWork<Result extends object>(
  reply: FastifyReply,
  system: HttpSystem,
  work: (tell: (progress: InstallProgress) => void) => Promise<Result>,
  mark: (result: Result) => void = () => {},
): Promise<FastifyReply> {
  if (!wantsEvents(reply.request)) {
    const result = await work(() => {});
    mark(result);
    return await reply.send(result);
  }
  const first: InstallProgress[] = [];
  let events: EventAnswer | undefined;
  const open = () => {
    events = openEvents(reply, system.clock);
    for (const progress of first.splice(0)) events.send('progress', progress);
    return events;
  };
  try {
    const done = await work(progress => {
      if (progress.step === 'validate') first.push(progress);
      else (events ?? open()).send('progress', progress);
    });
    (events ?? open()).send('done', done, true);
  } catch (error) {
    if (!events) throw error;
    events.send('error', reportOf(error, reply.request.url, system), true);
  } finally {
    events?.[Symbol.dispose]();
  }
  return reply;
}

/** Sets the status and the header of the answer to a request that has installed a server. */
export const created =
  (reply: FastifyReply) =>
  ({ name }: { readonly name: string }): void =>
    void reply.code(201).header('location', `/servers/${name}`);
