import type { FastifyInstance, FastifyReply } from 'fastify';
import { isObject } from '#core';
import type { InstallJobs, InstallProgress, Installed, Installs } from '#installs';
import type { Admission } from '../admission.ts';
import { type HttpSystem, reportOf } from '../errors.ts';
import { administered } from '../guard.ts';
import type { HttpNeeds } from '../http-needs.ts';
import { type EventAnswer, hangUpOf, openEvents, wantsEvents } from './events.ts';
import { invalid, readFlag } from './input.ts';

type Needs = Pick<HttpNeeds, 'system'> & {
  readonly installs: Pick<Installs, 'remove'>;
  readonly installJobs: Pick<InstallJobs, 'install'>;
  readonly admission: Pick<Admission, 'principalOf'>;
};

/** `POST /servers/install` and `DELETE /servers/{name}` (spec 1.6). */
export function installRoutes(app: FastifyInstance, needs: Needs): void {
  app.post('/servers/install', administered, async (request, reply) => {
    // Loaded on first use, because its schema takes memory.
    const { readInstallBody } = await import('./install-body.ts');
    const wanted = readInstallBody(request.body);
    const signal = hangUpOf(reply);
    const { name: principal } = needs.admission.principalOf(request);
    const install = (tell: (progress: InstallProgress) => void) =>
      needs.installJobs.install(wanted, principal, tell, signal);
    if (wantsEvents(request)) return await stream(reply, install, needs.system);
    const installed = await install(() => {});
    return await reply.code(201).header('location', `/servers/${installed.name}`).send(installed);
  });

  app.delete<{ Params: { name: string } }>('/servers/:name', administered, async request => {
    return await needs.installs.remove(request.params.name, { purge: readPurge(request.query) });
  });
}

/**
 * Streams the lines of an install, and at the end the body of the plain answer, or its error. Throws if the install is
 * refused before it begins, which is answered with its own status.
 */
async function stream(
  reply: FastifyReply,
  install: (tell: (progress: InstallProgress) => void) => Promise<Installed>,
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
    const installed = await install(progress => {
      if (progress.step === 'validate') first.push(progress);
      else (events ?? open()).send('progress', progress);
    });
    (events ?? open()).send('done', installed, true);
  } catch (error) {
    if (!events) throw error;
    events.send('error', reportOf(error, reply.request.url, system), true);
  } finally {
    events?.[Symbol.dispose]();
  }
  return reply;
}

function readPurge(query: unknown): boolean {
  const { purge, ...others } = isObject(query) ? query : {};
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid(`${other}: is no parameter of DELETE /servers/{name}; "purge" is the only one`);
  return readFlag('purge', purge);
}
