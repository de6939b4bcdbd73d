import type { FastifyReply } from 'fastify';
import type { InstallProgress } from '#installs';
import { type HttpSystem, reportOf } from '../errors.ts';
import { type EventAnswer, openEvents } from './events.ts';

/**
 * Streams the lines of long work, and then the body of the plain answer, or its error. Throws if the first step of the
 * work fails, so that the answer gets the status of the error.
 */
export async function streamProgress(
  reply: FastifyReply,
  work: (tell: (progress: InstallProgress) => void) => Promise<object>,
  system: HttpSystem,
): Promise<FastifyReply> {
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
