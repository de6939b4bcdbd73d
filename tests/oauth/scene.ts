import { HubError } from '#core';
import { createLogins } from '#oauth';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../doubles/authorization-server.ts';
import type { LoginNeeds, OAuthSettings } from '../../hub/oauth/login-types.ts';

/** Creates the logins of a hub to one server, `docs`, with the authorization server of the test. */
export async function openScene(settings: OAuthSettings = {}) {
  const server: AuthorizationServer = await startAuthorizationServer();
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const stored = new Map<string, string>();
  const audited: string[] = [];
  const redacted = new Set<string>();
  /** `url`: undefined if the config has no such server. */
  const place: { url: string | undefined; isWritable: boolean } = {
    url: server.url,
    isWritable: true,
  };
  /** Called before each write to the store. */
  const disk = { write: async (): Promise<void> => {} };
  const store: LoginNeeds['store'] = {
    read: async name => stored.get(name),
    async write(name, value) {
      await disk.write();
      if (!place.isWritable) throw new HubError('HUB_INTERNAL', 'the disk is full');
      stored.set(name, value);
    },
    async remove(name) {
      if (!place.isWritable) throw new HubError('HUB_INTERNAL', 'the disk is full');
      stored.delete(name);
    },
    redact: (_server, values) => values.forEach(value => redacted.add(value)),
  };
  /** Opens the logins of another run of the hub on the same data folder. */
  const open = () =>
    createLogins({
      clock,
      log,
      store,
      targetOf: name =>
        name === 'docs' && place.url !== undefined ? { name, url: place.url, settings } : undefined,
      hubUrl: () => 'http://127.0.0.1:9090',
      audit: ({ action, outcome }) => void audited.push(`${action} ${outcome}`),
    });
  const logins = open();
  return {
    server,
    clock,
    logged,
    stored,
    audited,
    redacted,
    place,
    disk,
    logins,
    open,
    tokens: logins.tokensOf('docs'),
    async logIn(): Promise<void> {
      const { url } = await logins.begin('docs');
      await logins.finish(server.grant(url));
    },
    refreshes: () =>
      server.of('/token').filter(({ form }) => form.get('grant_type') === 'refresh_token'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
