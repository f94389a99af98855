import { testScenarios } from './scenario-tests.js'

// Where browsers differ: what they send, keep, abort and freeze. The other scenarios disturb the application or its store,
// and `node tools/browsers` runs those in Firefox too.
testScenarios('firefox', [
  'tabs',
  'lost-responses',
  'lost-pages',
  'aborted-navigation',
  'asleep',
  'tabs-asleep',
  'clock-wrong',
  'other-origins',
])
