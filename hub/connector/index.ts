export { bridgeStdio } from './bridge.ts';
export { baseOf, dialHub, refused, unreachable } from './dial.ts';
export { type OwnCertificate, readOwnCertificate } from './own-certificate.ts';
