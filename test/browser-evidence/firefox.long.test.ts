import { testScenarios } from './scenario-tests.js'

// The scenarios in which browsers behave differently: what they send, store and abort. `node tools/browsers` runs every
// scenario in Firefox.
testScenarios('firefox', ['lost-responses', 'lost-pages', 'aborted-navigation', 'asleep', 'other-origins'])
