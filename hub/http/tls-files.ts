import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { HubError, messageOf } from '#core';
import { readAuthorities } from './client-certificates.ts';

type TlsFiles = { readonly certFile: string; readonly keyFile: string };

/**
 * Reads the certificate of the hub, its end in ms since the epoch, and its key. Rejects with HUB_CONFIG_INVALID if TLS
 * cannot use them.
 */
export async function readTlsFiles({ certFile, keyFile }: TlsFiles) {
  const cert = await readPem('ROUTER_TLS_CERT', certFile);
  const key = await readPem('ROUTER_TLS_KEY', keyFile);
  const certificate = parsed(
    'ROUTER_TLS_CERT',
    certFile,
    certWanted,
    () => new X509Certificate(cert),
  );
  const wanted = key.includes('ENCRYPTED') ? keyUnlocked : keyWanted;
  const privateKey = parsed('ROUTER_TLS_KEY', keyFile, wanted, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey))
    throw refusal(
      'ROUTER_TLS_KEY',
      keyFile,
      'is not the key of the certificate in ROUTER_TLS_CERT. Write the path of its key',
    );
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    const why = `cannot be used for TLS (${messageOf(cause)}). Write the path of a certificate and its chain`;
    throw refusal('ROUTER_TLS_CERT', certFile, why, cause);
  }
  return { cert, key, expiresAt: certificate.validToDate.getTime() };
}

/** The hub warns if its certificate expires within this time in ms. */
const warningMs = 14 * 86_400_000;

/** Returns a warning if the hub's certificate has expired, or does so within 14 days; undefined otherwise. */
export function expiryWarning(
  { certFile }: Pick<TlsFiles, 'certFile'>,
  { expiresAt, now }: { readonly expiresAt: number; readonly now: number },
): string | undefined {
  if (expiresAt - now > warningMs) return undefined;
  const day = new Date(expiresAt).toISOString().slice(0, 10);
  const state = expiresAt > now ? `expires on ${day}` : `expired on ${day}: clients refuse it`;
  return `ROUTER_TLS_CERT: the certificate in ${JSON.stringify(certFile)} ${state}. Renew it, and restart the hub`;
}

/** Reads the certificate authorities of clients. Rejects with HUB_CONFIG_INVALID if the file contains no certificate. */
export async function readAuthorityFile(caFile: string): Promise<readonly string[]> {
  const text = (await readPem('ROUTER_TLS_CLIENT_CA', caFile)).toString();
  try {
    return readAuthorities(text);
  } catch (cause) {
    const why = `${messageOf(cause)}. Write the PEM file of the authorities that sign the certificates of clients`;
    throw refusal('ROUTER_TLS_CLIENT_CA', caFile, why, cause);
  }
}

/**
 * Checks the files that a hub reads when it listens. Resolves with the end of its certificate in ms since the epoch.
 * Rejects with HUB_CONFIG_INVALID if the hub could not use the files.
 */
export async function checkTlsFiles({
  clients,
  ...files
}: TlsFiles & { readonly clients?: { readonly caFile: string } }): Promise<number> {
  const { expiresAt } = await readTlsFiles(files);
  if (clients) await readAuthorityFile(clients.caFile);
  return expiresAt;
}

const certWanted =
  'contains no certificate in PEM form. Write the path of the certificate of the hub';
const keyWanted =
  'contains no private key in PEM form. Write the path of the key of the certificate';
const keyUnlocked = 'has a passphrase. Write the path of the key without one';

function parsed<T>(setting: string, file: string, wanted: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw refusal(setting, file, wanted, cause);
  }
}

/** Reads the PEM file that a setting names. Rejects with HUB_CONFIG_INVALID. */
async function readPem(setting: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    const why = `cannot be read (${messageOf(cause)}). Write the path of a PEM file that this user may read`;
    throw refusal(setting, file, why, cause);
  }
}

const refusal = (setting: string, file: string, why: string, cause?: unknown) =>
  new HubError('HUB_CONFIG_INVALID', `${setting}: ${JSON.stringify(file)} ${why}`, { cause });
