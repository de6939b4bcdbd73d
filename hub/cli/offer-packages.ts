import { HubError, type JsonObject, messageOf } from '#core';
import type { Run } from './command.ts';
import { isAgreed } from './confirm.ts';

/** An install request with `rest`, the keys of the entry that have no field of their own. */
type WithRest = { readonly rest: JsonObject };

/**
 * Installs a server. If the server lacks a program of a Debian package, offers to add that package to the image, and
 * tries again. Rejects with the install's error if there is no such package or no terminal to ask on.
 */
export async function installOffering<Request extends WithRest>(
  request: Request,
  run: Run,
  install: (request: Request) => Promise<unknown>,
): Promise<unknown> {
  try {
    return await install(request);
  } catch (error) {
    const known = textsIn(request.rest['system_packages']);
    const missed = error instanceof HubError ? textsIn(error.data['system_packages']) : [];
    const more = missed.filter(name => !known.includes(name));
    if (more.length === 0 || !run.needs.ask || run.isJson) throw error;
    run.err(run.errorScreen.foreign(messageOf(error)));
    const question = `Install ${more.join(' and ')} in its image, and try again?`;
    if (!(await isAgreed(question, run))) throw error;
    const rest = { ...request.rest, system_packages: [...known, ...more] };
    return await installOffering({ ...request, rest }, run, install);
  }
}

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(one => typeof one === 'string') : [];
