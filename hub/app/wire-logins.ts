import type { Audit } from '#audit';
import { messageOf } from '#core';
import { type LoginTarget, type ServerLogins, createLogins } from '#oauth';
import type { Secrets } from '#secrets';
import { type Servers, startNow } from '#servers';
import type { System } from './system.ts';

type Needs = Pick<System, 'clock' | 'log'> & {
  readonly openSecrets: () => Promise<Pick<Secrets, 'own'>>;
  readonly servers: () => Pick<Servers, 'all' | 'removed'>;
  readonly audit: () => Pick<Audit, 'recordChange'>;
  /** Returns the address on which the hub listens, and its URL. Undefined if it does not listen. */
  readonly hub: () => { readonly host: string; readonly url: string } | undefined;
};

/** Creates the logins to remote servers. Their tokens are secrets of the hub's data folder. */
export function wireLogins(needs: Needs) {
  const { clock, log, openSecrets } = needs;
  const find = (name: string) => needs.servers().all.find(({ config }) => config.name === name);
  let remember: Secrets['own']['remember'] = () => {};

  async function own() {
    const secrets = await openSecrets();
    remember = secrets.own.remember;
    return secrets.own;
  }

  const logins: ServerLogins = createLogins({
    clock,
    log,
    targetOf(name): LoginTarget | undefined {
      const launch = find(name)?.config.launch;
      if (launch?.kind !== 'remote') return undefined;
      const { client_id: id, client_secret: secret, ...oauth } = launch.oauth ?? {};
      return {
        name,
        url: launch.url,
        settings: {
          ...(id !== undefined && { clientId: id }),
          ...(secret !== undefined && { clientSecret: secret }),
          ...(oauth.client_metadata_url !== undefined && {
            clientMetadataUrl: oauth.client_metadata_url,
          }),
          ...(oauth.scopes && { scopes: oauth.scopes }),
        },
      };
    },
    hubUrl() {
      const hub = needs.hub();
      return hub && redirectOrigin(hub.host, hub.url);
    },
    store: {
      read: async name => await (await own()).read(name),
      write: async (name, value) => await (await own()).write(name, value),
      remove: async name => await (await own()).remove(name),
      // Called only after a read or before a write, both of which have opened the secrets.
      redact: (server, values) => remember(server, values),
    },
    audit({ action, server, outcome }) {
      needs.audit().recordChange({ action, principal: undefined, target: server, outcome });
    },
  });

  /** Starts servers that wait for a login once they are logged in. */
  function watch(): void {
    logins.loggedIn(name => {
      const server = find(name);
      if (!server?.config.enabled || !['needs_login', 'failed'].includes(server.status.state))
        return;
      startNow(server).catch((error: unknown) =>
        log.info(
          { server: name, error: messageOf(error) },
          'the server did not start after its login',
        ),
      );
    });
  }

  return { logins, watch };
}

/**
 * Returns the origin of redirects to the hub. Uses a literal loopback address instead of `localhost` (RFC 8252, 7.3
 * and 8.3), but with TLS keeps the name that the certificate contains.
 */
export function redirectOrigin(host: string, url: string): string {
  const literal = host === '::1' ? '[::1]' : '127.0.0.1';
  return url.replace(/^http:\/\/localhost(?=:|$)/, `http://${literal}`);
}
