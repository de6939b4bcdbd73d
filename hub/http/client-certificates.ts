import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { whyNoClientName } from '#config';
import type { Clock } from '#core';

/** Verification of the TLS certificates of clients. */
type ClientCertificatesOptions = {
  /** False: clients without a certificate are admitted, and need a token if calls need one. */
  readonly isRequired: boolean;
};

/** The client that a connection's certificate names, or the reason to refuse the connection. */
export type PresentedCertificate =
  | { readonly name: string | undefined; readonly refusal?: undefined }
  | { readonly refusal: string };

type Connection = Pick<TLSSocket, 'authorized' | 'authorizationError' | 'getPeerX509Certificate'>;

/** Time in ms. A certificate that is invalid by less than this may be so only because two clocks differ. */
const clockSkewMs = 5 * 60_000;
const maxShownChars = 100;

/** OpenSSL's error codes for a certificate that no known authority has signed (x509_vfy). */
const unknownIssuer =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_GET_ISSUER_CERT_LOCALLY|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/;

/**
 * Reads the certificates of clients. TLS has verified that the client has the private key; Node admits all
 * connections, so that a refused client gets the reason as an answer.
 */
export const createClientCertificates =
  ({ isRequired }: ClientCertificatesOptions, clock: Pick<Clock, 'now'>) =>
  (connection: Connection): PresentedCertificate => {
    const certificate = connection.getPeerX509Certificate();
    if (!certificate)
      return isRequired
        ? {
            refusal:
              'this hub requires a certificate of each client (ROUTER_TLS_CLIENT_AUTH), and none was sent. Send one that an authority in ROUTER_TLS_CLIENT_CA has signed: agenthub sends that of AGENTHUB_CLIENT_CERT and AGENTHUB_CLIENT_KEY',
          }
        : { name: undefined };
    const problem = connection.authorized
      ? undefined
      : whyRefused(certificate, String(connection.authorizationError), clock.now());
    const refusal = problem ?? whyNoName(certificate);
    return refusal === undefined
      ? { name: clientNameIn(certificate)?.name }
      : { refusal: `the certificate of ${shown(subjectOf(certificate))} ${refusal}` };
  };

/** Returns the reason to refuse a certificate that failed the verification, as a clause. */
function whyRefused(certificate: X509Certificate, code: string, now: number): string {
  const { validFromDate, validToDate } = certificate;
  if (code === 'CERT_NOT_YET_VALID') {
    const inMs = validFromDate.getTime() - now;
    return `is valid only from ${validFromDate.toISOString()}, ${remedyFor(inMs, 'later', now)}`;
  }
  if (code === 'CERT_HAS_EXPIRED') {
    const agoMs = now - validToDate.getTime();
    return `expired at ${validToDate.toISOString()}, ${remedyFor(agoMs, 'earlier', now)}`;
  }
  return unknownIssuer.test(code)
    ? 'is not signed by an authority in ROUTER_TLS_CLIENT_CA. Send one that is'
    : `cannot be used by a client (${code}). Send another`;
}

function remedyFor(offMs: number, side: 'earlier' | 'later', now: number): string {
  const clocks = `than the hub's clock says (${new Date(now).toISOString()})`;
  return offMs < clockSkewMs
    ? `less than five minutes ${side} ${clocks}: the clocks of the machines may differ. Set them, or renew the certificate`
    : `${side} ${clocks}. Renew the certificate`;
}

function whyNoName(certificate: X509Certificate): string | undefined {
  const found = clientNameIn(certificate);
  if (!found)
    return 'names no client: it has neither a DNS name, an email address or a URI as alternative name, nor a common name';
  const problem = whyNoClientName(found.name);
  return problem === undefined
    ? undefined
    : `names the client ${shown(found.name)} (${found.from}), which is refused: ${problem}`;
}

/**
 * Returns the name of a client in its certificate: the first alternative name that is a DNS name, else an email
 * address, else a URI; else the common name. For `cursor.home.lan`, `cursor@home.lan` and `spiffe://home.lan/cursor`
 * the name is `cursor`.
 */
export function clientNameIn({
  subject,
  subjectAltName = '',
}: Pick<X509Certificate, 'subject' | 'subjectAltName'>) {
  const names = alternativeNames(subjectAltName);
  const first = (kind: string) => names.find(name => name.kind === kind)?.value;
  const dns = first('DNS');
  if (dns !== undefined) return { name: dns.split('.', 1).join(), from: 'its DNS name' };
  const email = first('email');
  if (email !== undefined)
    return { name: email.slice(0, email.lastIndexOf('@')), from: 'its email address' };
  const uri = first('URI');
  if (uri !== undefined) return { name: uri.slice(uri.lastIndexOf('/') + 1), from: 'its URI' };
  const common = /^CN=(.*)$/m.exec(subject)?.[1];
  return common === undefined ? undefined : { name: common, from: 'its common name' };
}

/** Matches an alternative name as Node writes it; in quotes, as JSON, if the name contains a comma or a quote. */
const alternativeName = /(?:^|, )([^:,"]+):("(?:[^"\\]|\\.)*"|[^,]*)/gy;

const alternativeNames = (text: string) =>
  Array.from(text.matchAll(alternativeName), ([, kind, value = '']) => ({
    kind,
    value: value.startsWith('"') ? String(JSON.parse(value)) : value,
  }));

const subjectOf = ({ subject, serialNumber }: X509Certificate): string =>
  subject ? subject.replaceAll('\n', ', ') : `serial number ${serialNumber}`;

const shown = (text: string): string => JSON.stringify(text.slice(0, maxShownChars));

/** Splits a PEM file into its certificates, as text. Throws TypeError with a clause that says what is wrong. */
export function readAuthorities(text: string): readonly string[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new TypeError('contains no certificate in PEM form');
  blocks.forEach((block, index) => {
    try {
      new X509Certificate(block);
    } catch (cause) {
      throw new TypeError(`contains a damaged certificate, number ${index + 1}`, { cause });
    }
  });
  return blocks;
}
