//! The ioctls of VFIO: containers, groups, devices, IOMMUs of type 1.

use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ffi::{c_void, CString};
use std::io;
use std::mem::size_of;
use std::ops::RangeInclusive;
use vfio_bindings::bindings::vfio::*;

const fn request(number: u32) -> u64 {
    (VFIO_TYPE as u64) << 8 | (VFIO_BASE + number) as u64
}

const GET_API_VERSION: u64 = request(0);
const CHECK_EXTENSION: u64 = request(1);
const SET_IOMMU: u64 = request(2);
const GROUP_GET_STATUS: u64 = request(3);
const GROUP_SET_CONTAINER: u64 = request(4);
const GROUP_GET_DEVICE_FD: u64 = request(6);
const DEVICE_GET_INFO: u64 = request(7);
const DEVICE_GET_REGION_INFO: u64 = request(8);
const DEVICE_GET_IRQ_INFO: u64 = request(9);
const DEVICE_SET_IRQS: u64 = request(10);
const DEVICE_RESET: u64 = request(11);
const IOMMU_GET_INFO: u64 = request(12);
const IOMMU_MAP_DMA: u64 = request(13);
const IOMMU_UNMAP_DMA: u64 = request(14);
const DEVICE_IOEVENTFD: u64 = request(16);

/// Bytes of an answer with capabilities; longer ones are fetched again.
const ANSWER_BYTES: usize = 1024;

/// The system call itself.
///
/// # Safety
/// `argument` is what the request wants: a number, or a pointer to memory that the request reads and writes.
unsafe fn system(fd: BorrowedFd, request: u64, argument: *mut c_void) -> io::Result<i32> {
    #[cfg(test)]
    if let Some(answer) = super::kernel::answer(request, argument.cast()) {
        return result(answer);
    }
    // SAFETY: as the caller promises.
    result(unsafe { libc::ioctl(fd.as_raw_fd(), request as _, argument) })
}

/// An ioctl with a structure: every one of VFIO carries its size in its first word, but for those with `T` as a plain number.
fn call<T>(fd: BorrowedFd, request: u64, argument: &mut T) -> io::Result<i32> {
    // SAFETY: `argument` is a live structure of the type that this request names, and no request here keeps its address.
    unsafe { system(fd, request, std::ptr::from_mut(argument).cast()) }
}

/// An ioctl with a number.
fn call_number(fd: BorrowedFd, request: u64, number: u64) -> io::Result<i32> {
    // SAFETY: requests with a number read no memory.
    unsafe { system(fd, request, std::ptr::without_provenance_mut(number as usize)) }
}

fn result(value: i32) -> io::Result<i32> {
    match value < 0 {
        true => Err(io::Error::last_os_error()),
        false => Ok(value),
    }
}

fn size<T>() -> u32 {
    size_of::<T>() as u32
}

/// The version of the interface; 0 is the only one.
pub fn api_version(container: BorrowedFd) -> io::Result<i32> {
    call_number(container, GET_API_VERSION, 0)
}

/// Whether the container can have an IOMMU of type 1, second version.
pub fn has_type1(container: BorrowedFd) -> io::Result<bool> {
    call_number(container, CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU.into()).map(|answer| answer > 0)
}

/// Chooses it.
pub fn set_type1(container: BorrowedFd) -> io::Result<()> {
    call_number(container, SET_IOMMU, VFIO_TYPE1v2_IOMMU.into()).map(drop)
}

/// Whether all functions of the group are free for programs.
pub fn is_viable(group: BorrowedFd) -> io::Result<bool> {
    let mut status = vfio_group_status { argsz: size::<vfio_group_status>(), flags: 0 };
    call(group, GROUP_GET_STATUS, &mut status)?;
    Ok(status.flags & VFIO_GROUP_FLAGS_VIABLE != 0)
}

/// Puts a group into a container.
pub fn set_container(group: BorrowedFd, container: BorrowedFd) -> io::Result<()> {
    call(group, GROUP_SET_CONTAINER, &mut container.as_raw_fd()).map(drop)
}

/// A device of the group.
pub fn device(group: BorrowedFd, address: &str) -> io::Result<OwnedFd> {
    let name = CString::new(address)?;
    // SAFETY: the request reads a string that ends with 0.
    let fd = unsafe { system(group, GROUP_GET_DEVICE_FD, name.as_ptr().cast_mut().cast()) }?;
    // SAFETY: the request made this descriptor, and it is ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether the device can be reset.
pub fn is_resettable(device: BorrowedFd) -> io::Result<bool> {
    let mut info = vfio_device_info { argsz: size::<vfio_device_info>(), ..Default::default() };
    call(device, DEVICE_GET_INFO, &mut info)?;
    Ok(info.flags & VFIO_DEVICE_FLAGS_RESET != 0)
}

/// A region of the device: its place in the device's file, its bytes, and whether it can be mapped.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    pub offset: u64,
    pub bytes: u64,
    pub mappable: bool,
}

/// A region by its number.
pub fn region(device: BorrowedFd, index: u32) -> io::Result<Region> {
    let mut info = vfio_region_info { argsz: size::<vfio_region_info>(), index, ..Default::default() };
    call(device, DEVICE_GET_REGION_INFO, &mut info)?;
    Ok(Region { offset: info.offset, bytes: info.size, mappable: info.flags & VFIO_REGION_INFO_FLAG_MMAP != 0 })
}

/// How many vectors the device has of a kind.
pub fn vectors(device: BorrowedFd, index: u32) -> io::Result<usize> {
    let mut info = vfio_irq_info { argsz: size::<vfio_irq_info>(), index, ..Default::default() };
    call(device, DEVICE_GET_IRQ_INFO, &mut info)?;
    Ok(info.count as usize)
}

/// Has the vectors of a kind signal eventfds, the first ones so many; none switches all off.
pub fn set_vectors(device: BorrowedFd, index: u32, events: &[BorrowedFd]) -> io::Result<()> {
    let data = if events.is_empty() { VFIO_IRQ_SET_DATA_NONE } else { VFIO_IRQ_SET_DATA_EVENTFD };
    let bytes = size_of::<vfio_irq_set>() + size_of_val(events);
    // The head of the request, and its descriptors as a tail.
    let head = [bytes as u32, data | VFIO_IRQ_SET_ACTION_TRIGGER, index, 0, events.len() as u32];
    let mut words: Vec<u32> = head.to_vec();
    words.extend(events.iter().map(|event| event.as_raw_fd() as u32));
    // SAFETY: the request reads as many bytes as its first word gives, which are those of `words`.
    unsafe { system(device, DEVICE_SET_IRQS, words.as_mut_ptr().cast()) }.map(drop)
}

/// Resets the device. The kernel keeps its configuration space and its vectors.
pub fn reset(device: BorrowedFd) -> io::Result<()> {
    call_number(device, DEVICE_RESET, 0).map(drop)
}

/// Has the kernel write `value` to the word at `offset` of the device's file whenever the eventfd is written.
pub fn ioeventfd(device: BorrowedFd, offset: u64, value: u32, event: BorrowedFd) -> io::Result<()> {
    let mut argument = vfio_device_ioeventfd {
        argsz: size::<vfio_device_ioeventfd>(),
        flags: VFIO_DEVICE_IOEVENTFD_32,
        offset,
        data: value.into(),
        fd: event.as_raw_fd(),
        reserved: 0,
    };
    call(device, DEVICE_IOEVENTFD, &mut argument).map(drop)
}

/// What an IOMMU can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IommuInfo {
    /// The sizes of pages, a bit each.
    pub page_sizes: u64,
    /// Addresses that a device can use.
    pub ranges: Vec<RangeInclusive<u64>>,
}

/// What the IOMMU of a container can do.
pub fn iommu_info(container: BorrowedFd) -> io::Result<IommuInfo> {
    let mut bytes = ANSWER_BYTES;
    loop {
        let mut answer = vec![0u64; bytes.div_ceil(8)];
        answer[0] = 8 * answer.len() as u64;
        // SAFETY: the request writes at most as many bytes as the first word gives, which are those of `answer`.
        unsafe { system(container, IOMMU_GET_INFO, answer.as_mut_ptr().cast()) }?;
        let needed = answer[0] as u32 as usize;
        if needed <= 8 * answer.len() {
            let answer: Vec<u8> = answer.iter().flat_map(|word| word.to_ne_bytes()).collect();
            return Ok(parse_iommu_info(&answer));
        }
        bytes = needed;
    }
}

/// Reads VFIO's structure of an IOMMU of type 1, with its chain of capabilities. Offsets that lead nowhere end the chain.
fn parse_iommu_info(answer: &[u8]) -> IommuInfo {
    let word = |at: usize| answer.get(at..at + 4).map(|bytes| u32::from_ne_bytes(bytes.try_into().expect("4 bytes")));
    let long = |at: usize| answer.get(at..at + 8).map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("8 bytes")));
    let mut info = IommuInfo { page_sizes: long(8).unwrap_or(0), ranges: Vec::new() };
    let has_capabilities = word(4).is_some_and(|flags| flags & VFIO_IOMMU_INFO_CAPS != 0);
    let mut at = if has_capabilities { word(16).unwrap_or(0) as usize } else { 0 };
    // A header is a number of 16 bits, a version of 16 bits, and the offset of the next one.
    for _ in 0..answer.len() / 8 {
        let (Some(head), Some(next)) = (word(at), word(at + 4)) else { break };
        if at == 0 {
            break;
        }
        if head & 0xFFFF == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE {
            let count = word(at + 8).unwrap_or(0) as usize;
            info.ranges = (0..count).map_while(|i| Some(long(at + 16 + 16 * i)?..=long(at + 24 + 16 * i)?)).collect();
        }
        at = next as usize;
    }
    info
}

/// Lets the devices of a container reach memory of this program.
///
/// # Safety
/// Devices write the memory: no reference to it may be held while they can, and it must stay mapped until it is taken back.
pub unsafe fn map(container: BorrowedFd, address: u64, iova: u64, bytes: u64) -> io::Result<()> {
    let mut argument = vfio_iommu_type1_dma_map {
        argsz: size::<vfio_iommu_type1_dma_map>(),
        flags: VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
        vaddr: address,
        iova,
        size: bytes,
    };
    call(container, IOMMU_MAP_DMA, &mut argument).map(drop)
}

/// Takes memory back.
pub fn unmap(container: BorrowedFd, iova: u64, bytes: u64) -> io::Result<()> {
    let argsz = size::<vfio_iommu_type1_dma_unmap>();
    let mut argument = vfio_iommu_type1_dma_unmap { argsz, flags: 0, iova, size: bytes, ..Default::default() };
    call(container, IOMMU_UNMAP_DMA, &mut argument)?;
    match argument.size == bytes {
        true => Ok(()),
        false => Err(io::Error::other(format!("{} of {bytes} bytes were taken back", argument.size))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(capabilities: &[u32]) -> Vec<u8> {
        let head = [0, VFIO_IOMMU_INFO_PGSIZES | VFIO_IOMMU_INFO_CAPS, 0x4020_1000, 0, 24, 0];
        head.iter().chain(capabilities).flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn the_ranges_of_an_iommu_are_found_in_the_chain() {
        // Bytes that can be mapped, then ranges.
        let available = [VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL | 1 << 16, 24 + 16, 65535, 0];
        let ranges = [VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE | 1 << 16, 0, 2, 0];
        let first = [0, 0, 0xFEDF_FFFF, 0];
        let second = [0xFEF0_0000, 0, 0xFFFF_FFFF, 0x7F];
        let info = parse_iommu_info(&answer(&[available, ranges, first, second].concat()));
        assert_eq!(info.page_sizes, 0x4020_1000);
        assert_eq!(info.ranges, [0..=0xFEDF_FFFF, 0xFEF0_0000..=0x7F_FFFF_FFFF]);
    }

    #[test]
    fn a_chain_that_leads_nowhere_ends() {
        let ranges = VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE | 1 << 16;
        // A loop, a place outside, more ranges than the answer has, and an answer that is cut.
        assert!(parse_iommu_info(&answer(&[9, 24, 0, 0])).ranges.is_empty());
        assert!(parse_iommu_info(&answer(&[9, 4000, 0, 0])).ranges.is_empty());
        assert_eq!(parse_iommu_info(&answer(&[ranges, 0, u32::MAX, 0, 1, 0, 2, 0])).ranges, [1..=2]);
        assert_eq!(parse_iommu_info(&[0; 3]), IommuInfo::default());
    }

    #[test]
    fn requests_have_the_numbers_of_the_kernel() {
        let numbers = [
            GET_API_VERSION,
            CHECK_EXTENSION,
            SET_IOMMU,
            GROUP_GET_STATUS,
            GROUP_SET_CONTAINER,
            GROUP_GET_DEVICE_FD,
            DEVICE_GET_INFO,
            DEVICE_GET_REGION_INFO,
            DEVICE_GET_IRQ_INFO,
            DEVICE_SET_IRQS,
            DEVICE_RESET,
            IOMMU_GET_INFO,
            IOMMU_MAP_DMA,
            IOMMU_UNMAP_DMA,
            DEVICE_IOEVENTFD,
        ];
        let expected = [100, 101, 102, 103, 104, 106, 107, 108, 109, 110, 111, 112, 113, 114, 116];
        assert_eq!(numbers, expected.map(|number| 0x3B00 | number));
    }

    /// Each request reaches the kernel, which knows none of them for a plain file.
    #[test]
    fn a_file_that_is_none_of_vfio_refuses_every_request() {
        use rustix::fd::AsFd;
        let (file, other) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let (fd, event) = (file.as_fd(), other.as_fd());
        let results = [
            api_version(fd).map(drop),
            has_type1(fd).map(drop),
            set_type1(fd),
            is_viable(fd).map(drop),
            set_container(fd, event),
            device(fd, "0000:65:00.0").map(drop),
            is_resettable(fd).map(drop),
            region(fd, 0).map(drop),
            vectors(fd, 2).map(drop),
            set_vectors(fd, 2, &[event]),
            set_vectors(fd, 2, &[]),
            reset(fd),
            ioeventfd(fd, 0, 1, event),
            iommu_info(fd).map(drop),
            // SAFETY: a plain file gives no device this memory.
            unsafe { map(fd, 0x1000, 0x1000, 0x1000) },
            unmap(fd, 0x1000, 0x1000),
        ];
        for (number, result) in results.into_iter().enumerate() {
            assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::ENOTTY), "request {number} of the list");
        }
        assert_eq!(device(fd, "0000\0").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn results_below_zero_are_errors() {
        assert_eq!((result(0).unwrap(), result(7).unwrap()), (0, 7));
        assert!(result(-1).is_err());
        assert_eq!((size::<u64>(), size::<[u8; 5]>()), (8, 5));
    }

    #[test]
    fn an_iommu_without_capabilities_has_no_ranges() {
        let ranges = [VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE | 1 << 16, 0, 1, 0, 1, 0, 2, 0];
        let mut without = answer(&ranges);
        assert_eq!(parse_iommu_info(&without).ranges, [1..=2]);
        without[4..8].copy_from_slice(&VFIO_IOMMU_INFO_PGSIZES.to_ne_bytes());
        assert_eq!(parse_iommu_info(&without), IommuInfo { page_sizes: 0x4020_1000, ranges: vec![] });
        // Another kind of capability with the same numbers.
        let other = [(VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE + 5) | 1 << 16, 0, 1, 0, 1, 0, 2, 0];
        assert!(parse_iommu_info(&answer(&other)).ranges.is_empty());
    }
}
