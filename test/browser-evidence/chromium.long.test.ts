import { testScenarios } from './scenario-tests.js'
import { SCENARIOS } from './scenarios/index.js'

testScenarios('chromium', Object.keys(SCENARIOS))
