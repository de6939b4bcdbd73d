import { HubError } from '#core';
import type { Draft, Entry, InstallRequest } from './request.ts';
import { entryOfServerJson } from './from-server-json.ts';
import { parseSource } from './source.ts';

/** Returns the entry for a request. Pure. Throws HUB_REQUEST_INVALID, which names the field. */
export function draftOf(request: InstallRequest): Draft {
  const { source, rest } = request;
  if ('server' in source) {
    const { entry, ...told } = entryOfServerJson(source.server, request);
    return { ...told, entry: { ...entry, ...rest } };
  }
  const parsed = parseSource(source.package);
  const { args, env, headers, transport, variables } = request;
  if (Object.keys(variables).length > 0)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      'variables: goes with "server" only, whose placeholders it fills in: remove it',
    );
  const entry: Entry = {
    ...(parsed.kind === 'url' ? { url: parsed.url } : { package: parsed.package }),
    ...(transport !== undefined && { transport }),
    ...(args && { args }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...rest,
  };
  return { name: parsed.name, entry, secrets: new Set() };
}
