import { z } from 'zod';
import { tryParseJson } from '#core';

/** Version 1 of the format of a stored login. */
const format = z.object({
  version: z.literal(1),
  /** URL of the server. The tokens are valid only there. */
  url: z.string(),
  redirectUrl: z.string(),
  /** URL at which the metadata of the authorization server is found. */
  authorizationServer: z.string(),
  issuer: z.string(),
  resource: z.string().optional(),
  client: z.looseObject({ client_id: z.string(), client_secret: z.string().optional() }),
  tokens: z
    .looseObject({
      access_token: z.string(),
      token_type: z.string(),
      refresh_token: z.string().optional(),
      scope: z.string().optional(),
    })
    .optional(),
  /** When the access token expires, in milliseconds since the epoch. */
  expiresAt: z.number().optional(),
  /** Lifetime of the access token in ms, as in the token response. */
  lifetimeMs: z.number().optional(),
});

/** The hub's registration at an authorization server, with its tokens. */
export type StoredLogin = z.infer<typeof format>;

/** Parses a stored login; undefined if it has another version or is damaged. */
export const parseLogin = (text: string): StoredLogin | undefined =>
  format.safeParse(tryParseJson(text)).data;

/** Returns the name of the secret that contains the login of a server. */
export const loginSecretOf = (server: string): string => `.oauth-${server}`;

export const loginText = (login: StoredLogin): string => JSON.stringify(login);

/** Returns the values that must be redacted. */
export function secretsOf({ client, tokens }: StoredLogin): readonly string[] {
  const { client_secret: secret } = client;
  const values = [secret, tokens?.access_token, tokens?.refresh_token];
  return values.filter(value => value !== undefined && value !== '').map(String);
}
