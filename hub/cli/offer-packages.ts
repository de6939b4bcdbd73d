import { HubError, type JsonObject, messageOf } from '#core';
import type { Run } from './command.ts';
import { isAgreed } from './confirm.ts';

/** An install whose other keys of the entry are in `rest`. */
type WithRest = { readonly rest: JsonObject };

/**
 * Installs a server. If it does not find a program of a Debian package, offers to install that in its image, and tries again.
 * Rejects with the error of the install if there is nothing to offer, or nobody to ask.
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
