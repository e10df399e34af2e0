// A list of scenes -> a DEM each, by Nextflow: a plan, the units of the scenes, then a merge of each scene.
//   nextflow run main.nf --scenes scenes.txt --job /data/job
// The job folder lies on a file system that all machines see; files are taken from where they lie, none is staged.
// SPDX-License-Identifier: Apache-2.0
nextflow.enable.dsl = 2

params.scenes = 'scenes.txt'                // a scene, or a left and a right image, a line
params.job = 'job'                          // job folder; the DEMs come into its folder dem
params.plan_options = '--memory 2G'
params.stereodem = 'stereodem'              // the program
params.memory = '2200 MB'                   // of a task: the memory of the plan and a tenth more
params.threads = 1                          // of a unit

process PLAN {
    memory '1 GB'

    input:
    val scenes
    val job

    output:
    stdout

    script:
    """
    ${params.stereodem} plan --quiet --list '${scenes}' -o '${job}' --overwrite ${params.plan_options} || [ \$? -eq 3 ]
    sed -n 's/.*"first_unit":\\([0-9]*\\),"unit_count":\\([0-9]*\\).*/\\1 \\2/p' '${job}/plan.json'
    """
}

process TILE {
    cpus params.threads
    memory { (params.memory as nextflow.util.MemoryUnit) * task.attempt }
    errorStrategy { task.attempt < 3 ? 'retry' : 'ignore' }
    maxRetries 2

    input:
    val job
    tuple val(scene), val(unit)

    output:
    tuple val(scene), val(unit), emit: done

    script:
    """
    ${params.stereodem} tile '${job}' ${unit} --threads ${task.cpus}
    """
}

process MERGE {
    memory params.memory
    errorStrategy 'ignore'

    input:
    val job
    tuple val(scene), val(units)

    output:
    val scene

    script:
    """
    ${params.stereodem} merge '${job}' ${scene} --threads ${task.cpus}
    """
}

workflow {
    job = file(params.job).toAbsolutePath().toString()
    PLAN(file(params.scenes).toAbsolutePath().toString(), job)
    // a line a scene: its first unit and their number; a unit whose scene is not prepared waits for the one that does that
    units = PLAN.out
        .map { text -> text.readLines().withIndex() }
        .flatMap { lines -> lines.collectMany { line, scene ->
            def (first, count) = line.tokenize()*.toInteger()
            (0..<count).collect { [groupKey(scene, count), first + it] }
        } }
    TILE(job, units)
    MERGE(job, TILE.out.done.groupTuple())
}
