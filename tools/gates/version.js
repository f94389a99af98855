import { checkVersionsAgree } from '../release/versions-agree.js'

/** Every file that names the version of the packages names the same. */
export function checkVersionNames({ manifest }) {
  return checkVersionsAgree(manifest)
}
