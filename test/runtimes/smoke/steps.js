import { steps as algorithms } from './algorithms.js'
import { steps as forgeries } from './forgeries.js'
import { steps as requests } from './requests.js'
import { steps as revocation } from './revocation.js'

/** What every runtime must do, in order; a step is a name and a function. */
export const STEPS = [...algorithms, ...forgeries, ...revocation, ...requests]
