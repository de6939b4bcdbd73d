import { z } from 'zod';
import { tryParseJson } from '#core';

/** Version 1 of the stored text. */
const format = z.object({
  version: z.literal(1),
  /** URL of the server that the tokens are for. */
  url: z.string(),
  redirectUrl: z.string(),
  /** Where its metadata is found. */
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
  /** Milliseconds since the epoch. */
  expiresAt: z.number().optional(),
  /** Lifetime of the access token in ms, as of its response. */
  lifetimeMs: z.number().optional(),
});

/** A registration of the hub at an authorization server, with the tokens that it has there. */
export type StoredLogin = z.infer<typeof format>;

/** Undefined for a text of another version, or that is damaged. */
export const parseLogin = (text: string): StoredLogin | undefined =>
  format.safeParse(tryParseJson(text)).data;

export const loginText = (login: StoredLogin): string => JSON.stringify(login);

/** The values that must not be displayed. */
export function secretsOf({ client, tokens }: StoredLogin): readonly string[] {
  const { client_secret: secret } = client;
  const values = [secret, tokens?.access_token, tokens?.refresh_token];
  return values.filter(value => value !== undefined && value !== '').map(String);
}
