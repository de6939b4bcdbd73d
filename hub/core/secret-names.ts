const files =
  /^(?:\.env(?:\..+)?|\.envrc|\.npmrc|\.yarnrc\.yml|\.pypirc|\.netrc|_netrc|\.git-credentials|\.pgpass|\.htpasswd|\.dockercfg|id_(?:rsa|dsa|ecdsa|ed25519)|.*\.(?:key|p12|pfx|jks|keystore|kdbx|ppk|ovpn|tfstate))$/i;
const folders = /^\.(?:ssh|aws|azure|gcloud|gnupg|kube)$/i;
/** Templates of `.env`, which contain names of variables without values. */
const templates = /^\.env\.(?:example|sample|template|dist|defaults?)$/i;

/** True if files of this name usually contain keys or passwords. */
export const isSecretFileName = (name: string): boolean =>
  files.test(name) && !templates.test(name);

/** True if folders of this name usually contain keys or passwords. */
export const isSecretFolderName = (name: string): boolean => folders.test(name);
