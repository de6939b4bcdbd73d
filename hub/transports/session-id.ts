import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { type Principal, principalKey } from '#policy';
import type { EarlierSession } from '#routing';

/** The contents of a session id, for the next run of the hub. */
export type SealedSession = Omit<EarlierSession, 'settings'>;

/** The endpoint and the principal of a session id. The id is valid only for them, and only with the same credential. */
type SessionBinding = {
  /** The server of the endpoint, or the profile after "@"; undefined for all servers. */
  readonly server: string | undefined;
  readonly principal: Principal;
};

export type SessionIds = ReturnType<typeof createSessionIds>;

export type SessionIdsOptions = {
  /** 32 secret bytes of the data folder. */
  readonly secret: Buffer;
  readonly hubId: string;
  /** Returns the credential of a principal; undefined if it needs none. Only a digest of the credential is used. */
  readonly credentialOf: (principal: Principal) => string | undefined;
};

/**
 * Maximum length of an id in characters. Clients send the id with each request, and heads of more than 8 KiB are
 * refused.
 */
const maxIdLength = 1_024;
const nonceBytes = 12;
const tagBytes = 16;
const nonceLength = 16;
/** Hub id, a dot, and the nonce, ciphertext and tag of AES-256-GCM as base64url. */
const shape = /^([a-z0-9]{1,64})\.([\w-]{44,})$/;
/** Separates fields. JSON text never contains this character. */
const separator = '\0';

/**
 * Encrypts and authenticates session ids of streamable HTTP, so that the next run of the hub can read them. An id is
 * not a credential: it is valid only for a request that the guard has admitted as the same principal, with the same
 * credential.
 */
export function createSessionIds({ secret, hubId, credentialOf }: SessionIdsOptions) {
  const key = createHmac('sha256', secret).update('session ids').digest();

  function boundTo({ server, principal }: SessionBinding): Buffer {
    const credential = credentialOf(principal) ?? null;
    const binding = JSON.stringify([hubId, server, principalKey(principal), credential]);
    return createHash('sha256').update(binding).digest();
  }

  return {
    /** Creates the id of a session; undefined if the client's data is too long for an id. */
    seal(
      binding: SessionBinding,
      { client, protocolVersion, openedAt }: SealedSession,
    ): string | undefined {
      const { clientInfo, capabilities } = client;
      const text = [openedAt, protocolVersion, clientInfo, capabilities].join(separator);
      if (text.length > maxIdLength) return undefined;
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(boundTo(binding));
      const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
      const id = `${hubId}.${Buffer.concat(sealed).toString('base64url')}`;
      return id.length > maxIdLength ? undefined : id;
    },
    /** Decrypts an id; undefined unless a hub with the same id and key created it for this binding. */
    open(id: string, binding: SessionBinding): SealedSession | undefined {
      if (id.length > maxIdLength) return undefined;
      const [, hub, body = ''] = shape.exec(id) ?? [];
      if (hub !== hubId) return undefined;
      const bytes = Buffer.from(body, 'base64url');
      // Several base64url texts decode to the same bytes; only the canonical one is the id.
      if (bytes.toString('base64url') !== body) return undefined;
      const nonce = bytes.subarray(0, nonceBytes);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
        .setAAD(boundTo(binding))
        .setAuthTag(bytes.subarray(-tagBytes));
      let text: string;
      try {
        text = decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8');
        text += decipher.final('utf8');
      } catch {
        // The id was forged, or belongs to another endpoint or principal.
        return undefined;
      }
      const [openedAt, protocolVersion = '', clientInfo = '', capabilities = ''] =
        text.split(separator);
      return { openedAt: Number(openedAt), protocolVersion, client: { clientInfo, capabilities } };
    },
  };
}

/** Returns the random part of an id, which identifies the session without giving access to it. */
export const nonceOf = (id: string): string => {
  const at = id.indexOf('.') + 1;
  return id.slice(at, at + nonceLength);
};
